/** Encrypted jobs: whatever becomes of them, nobody with access to their store, the logs or the tools can read their data. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dispatch, Queue } from 'onqueue';
import { runJob } from 'onqueue/testing';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import { JobBus } from '../../src/dispatch/bus';
import { EventBus } from '../../src/dispatch/events';
import { Listens } from '../../src/job/declare';
import { Job } from '../../src/job/job';
import { Middleware } from '../../src/job/middleware';
import { Worker } from '../../src/worker/worker';
import { served } from '../dashboard/kit/served';
import { CommandKit } from '../cli/kit/command-kit';
import { RecordingLogger, testApplication } from '../support/application';
import { startRedisServer } from '../support/redis-server';

const KEY = randomBytes(32).toString('base64');
const OLD_KEY = randomBytes(32).toString('base64');
const encryption = { use: 'new', keys: { new: KEY, old: OLD_KEY } };

/** Every secret begins like this, and is otherwise different. */
const CANARY = 'canary-';
const PLAIN = 'plain-bird';

@Middleware()
class Tagged {
  constructor(readonly tag: string) {}
  handle(_job: unknown, next: () => Promise<unknown>): Promise<unknown> {
    return next();
  }
}

/** Its steps and cursors survive the first attempt. */
@Job({ encrypted: true, tries: 2, checkpoints: true })
class Import extends Job {
  constructor(readonly card: string) {
    super();
  }

  async handle(): Promise<void> {
    const step = await this.step('fetch', () => `${CANARY}step of ${this.card}`);
    await this.checkpoint('row', `${CANARY}row`);
    if (this.attempts === 1) throw new Error(`stopped at ${this.card}`);
    if (this.checkpointed('row') !== `${CANARY}row`) throw new Error('the cursor is lost');
    if (step !== `${CANARY}step of ${this.card}`) throw new Error('the step is lost');
  }
}

type Way = 'completes' | 'retries' | 'fails' | 'fails itself' | 'string' | 'cause' | 'backoff' | 'parses';

@Job({ encrypted: true, tries: 2, keepResult: '1h' })
class Charge extends Job {
  constructor(
    readonly way: Way,
    readonly card: string,
    readonly at = new Date(0),
    readonly owners = new Map([[`${CANARY}key-of-a-map`, 1]]),
  ) {
    super();
  }

  backoff(): undefined {
    if (this.way === 'backoff') throw new Error(`backoff of ${this.card}`);
    return undefined;
  }

  async handle(): Promise<unknown> {
    const error = new RangeError(`no account for ${this.card}`);
    if (this.way === 'fails' || this.way === 'backoff') throw error;
    if (this.way === 'retries' && this.attempts === 1) throw error;
    if (this.way === 'string') throw `no ${this.card}` as unknown;
    if (this.way === 'fails itself') this.fail(`gave up ${this.card}`);
    if (this.way === 'parses') JSON.parse(this.card);
    if (this.way === 'cause') throw new Error('outer', { cause: new Error('inner', { cause: this.card }) });
    return { receipt: `${CANARY}receipt of ${this.card}` };
  }

  failed(error: Error): void {
    throw new Error(`failed() of ${this.card}: ${error.message}`);
  }
}

let counted: (card: string) => void = () => undefined;

@Job({ encrypted: true })
class Counted extends Job {
  constructor(readonly card: string) {
    super();
  }
  handle(): void {
    counted(this.card);
  }
}

class Paid {
  constructor(readonly by: string) {}
}

@Listens(Paid, { encrypted: true })
class Thank {
  handle(event: Paid): void {
    throw new Error(`no thanks to ${event.by}`);
  }
}

@Job()
class Open extends Job {
  constructor(readonly text: string) {
    super();
  }
}

const WAYS: readonly Way[] = ['completes', 'retries', 'fails', 'fails itself', 'string', 'cause', 'backoff', 'parses'];

describe.each(['redis', 'sqlite'] as const)('on %s', (store) => {
  it('no byte of them is in the store, its files, the log, the dashboard or the commands', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'onqueue-encrypted-'));
    const server =
      store === 'redis'
        ? await startRedisServer({ folder, args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
        : undefined;
    const config: ConnectionConfig =
      server === undefined
        ? { driver: 'database', url: `sqlite:${join(folder, 'jobs.sqlite')}` }
        : { driver: 'redis', url: server.url };
    const log = new RecordingLogger();
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: log },
      { connections: { main: config }, encryption, history: { completed: '1h' } },
    );
    const bus = new JobBus(() => manager);
    const secret = (n: number): string => `${CANARY}${n}-${'abcdefgh'.repeat(3)}`;
    try {
      const ids: string[] = [];
      for (const [n, way] of WAYS.entries())
        ids.push(await bus.dispatch(new Charge(way, secret(n))).through(new Tagged(`${CANARY}tag`)));
      await bus
        .chain([new Charge('completes', secret(20)), new Charge('fails', secret(21))])
        .catch(new Charge('completes', secret(22)))
        .dispatch();
      const batch = await bus
        .batch([
          new Charge('completes', secret(30)),
          [new Charge('retries', secret(31)), new Charge('completes', secret(32))],
        ])
        .progress(new Charge('completes', secret(33)), { every: 1 })
        .then(new Charge('completes', secret(34)))
        .dispatch();
      await manager.connection().push(new Charge('completes', secret(40)));
      await bus.dispatch(new Charge('completes', secret(41))).delay('1h');
      const imported = await bus.dispatch(new Import(secret(50)));
      await bus.dispatch(new Open(PLAIN)).delay('1h');
      await new Worker({ stopWhenEmpty: true, concurrency: 3 }, manager).run();

      const result = await manager.connection().result<{ receipt: string }>(ids[0]!);
      expect(result).toEqual({ receipt: `${CANARY}receipt of ${secret(0)}` });
      expect(await manager.batches.get(batch.id)).toMatchObject({ completed: 3, failed: 0 });
      expect(await manager.connection().find(imported)).toMatchObject({ state: 'completed', attempts: 2 });
      const failed = await manager.failed.list();
      expect(failed.map(({ exception }) => exception.split('\n')[0]).toSorted()).toEqual(
        expect.arrayContaining(['RangeError: no account for ***', expect.stringContaining('***')]),
      );
      await using panel = await served(manager);
      const pages = ['failed', ...failed.map(({ id }) => `job?id=${id}`), `job?id=${ids[0]}`, 'queue?name=default'];
      const shown = await Promise.all(pages.map(async (page) => (await panel.get(page)).text));
      const kit = new CommandKit({
        'onqueue.config.js': `module.exports = ${JSON.stringify({ connections: { main: config }, encryption })};`,
      });
      kit.connectors = builtInConnectors;
      const lines = [
        ['failed', '--json'],
        ['failed', failed[0]!.id],
        ['inspect', ids[1]!, '--json'],
        ['jobs', '--state=delayed', '--json'],
        ['batches'],
        ['encryption'],
        ['check'],
      ];
      for (const line of lines) {
        const { stdout, stderr } = await kit.run(...line);
        shown.push(stdout + stderr);
      }
      const all = [...shown, JSON.stringify(log.lines), ...filesIn(folder)].join('\n');

      expect(all).toContain(PLAIN);
      expect(log.lines.filter(({ level }) => level === 'error').length).toBeGreaterThan(0);
      expect(excerpt(all, CANARY)).toBeUndefined();
      expect(excerpt(all, 'abcdefgh')).toBeUndefined();
      await kit.close();
    } finally {
      await manager.close();
      await server?.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

/** All files, as text. */
function filesIn(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.length).toBeGreaterThan(0);
  return files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'));
}

const excerpt = (text: string, word: string): string | undefined => {
  const at = text.indexOf(word);
  return at === -1 ? undefined : text.slice(Math.max(0, at - 200), at + 60);
};

it('a key is changed in three steps under load, and no job fails or is lost, whichever worker gets it', async () => {
  const server = await startRedisServer();
  const ran: string[] = [];
  counted = (card) => void ran.push(card);
  const steps = [
    { use: 'old', keys: { old: OLD_KEY } },
    { use: 'old', keys: { old: OLD_KEY, new: KEY } },
    { use: 'new', keys: { old: OLD_KEY, new: KEY } },
    { use: 'new', keys: { new: KEY } },
  ];
  const programs = steps.map((step) => {
    const connections = { main: { driver: 'redis', url: server.url } } as const;
    return new QueueManager(
      { connectors: builtInConnectors, logger: new RecordingLogger() },
      { connections, encryption: step },
    );
  });
  const most = 50;
  try {
    // Each step meets the one before it: half of the programs are deployed. The last one begins when nothing waits.
    for (const pair of [programs.slice(0, 2), programs.slice(1, 3), programs.slice(3)]) {
      const sent = Array.from({ length: most }, (_, n) =>
        new JobBus(() => pair[n % pair.length]!).dispatch(new Counted(`${programs.indexOf(pair[0]!)}-${n}`)),
      );
      const workers = pair.map((manager) => new Worker({ drain: true, concurrency: 5 }, manager).run());
      await Promise.all([...sent, ...workers]);
      await Promise.all(pair.map((manager) => new Worker({ drain: true }, manager).run()));
    }

    expect(new Set(ran).size).toBe(3 * most);
    expect(ran).toHaveLength(3 * most);
    expect(await programs[0]!.failed.list()).toEqual([]);
    expect(await programs[0]!.connection().size()).toBe(0);
  } finally {
    await Promise.all(programs.map((manager) => manager.close()));
    await server.stop();
  }
});

describe('an encrypted job', () => {
  it('is never sent in the clear: without a key its dispatch is refused', async () => {
    const { manager, bus } = testApplication();

    await expect(bus.dispatch(new Charge('completes', 'x'))).rejects.toMatchObject({ code: 'E_NO_ENCRYPTION_KEY' });
    expect(await manager.connection().size()).toBe(0);
    await manager.close();
  });

  it('whose key is not here goes back for free, until a worker has it', async () => {
    const { manager, bus, log } = testApplication({ encryption: { use: 'gone', keys: { gone: OLD_KEY } } });
    const id = await bus.dispatch(new Charge('completes', 'x'));
    const payload = (await manager.driver().queues.peek!('default', 'ready', 1))[0]!.payload.toString();
    const other = testApplication({ encryption });
    await other.manager.connection().pushRaw(payload);

    await new Worker({ stopWhenEmpty: true }, other.manager).run();

    expect(await other.manager.connection().counts()).toMatchObject({ delayed: 1 });
    expect(other.log.messages('warn').join()).toContain(
      `Charge ${id} needs the key 'gone'. Add it to encryption.keys.`,
    );
    expect(await other.manager.failed.list()).toEqual([]);
    await Promise.all([manager.close(), other.manager.close()]);
    expect(log.messages('error')).toEqual([]);
  });

  it('fails at once if its data were changed, or are those of another job', async () => {
    const { manager, bus } = testApplication({ encryption });
    const texts: string[] = [];
    for (const card of ['one', 'other']) {
      await bus.dispatch(new Charge('completes', card));
      texts.push((await manager.driver().queues.peek!('default', 'ready', 9)).at(-1)!.payload.toString());
    }
    await manager.connection().clear();
    const commandIn = (text: string): string => (JSON.parse(text) as { data: { command: string } }).data.command;
    const [one, other] = texts as [string, string];
    await manager.connection().pushRaw(one.replace(commandIn(one), commandIn(other)));
    await manager.connection().pushRaw(other.replace(commandIn(other), commandIn(one)));

    await new Worker({ stopWhenEmpty: true }, manager).run();

    const failed = await manager.failed.list();
    expect(
      failed.map(({ exception, attempts }) => [exception.includes('were changed after they were sealed'), attempts]),
    ).toEqual([
      [true, 1],
      [true, 1],
    ]);
    await manager.close();
  });

  it('that waited from before its class was encrypted still runs, and one that was sealed runs when it no longer is', async () => {
    const { manager, bus } = testApplication({ encryption });
    const id = await bus.dispatch(new Charge('completes', 'x'));
    await manager.connection().pushRaw(
      JSON.stringify({
        displayName: 'Charge',
        job: 'onqueue',
        data: { commandName: 'Charge', command: { way: 'completes', card: 'y' } },
        id: 'clear',
        attempts: 0,
      }),
    );

    await new Worker({ stopWhenEmpty: true }, manager).run();

    expect(await manager.connection().result(id)).toEqual({ receipt: `${CANARY}receipt of x` });
    expect(await manager.connection().result('clear')).toEqual({ receipt: `${CANARY}receipt of y` });
    await manager.close();
  });

  it('is revealed to who asks for it, and the log says so', async () => {
    const { manager, bus, log } = testApplication({ encryption });
    const id = await bus.dispatch(new Charge('completes', 'x')).through(new Tagged('t'));

    const hidden = await manager.connection().find(id);
    const found = await manager.connection().find(id, { reveal: true });

    expect(JSON.stringify(hidden.payload)).not.toContain('completes');
    expect(found.payload).toMatchObject({
      data: { command: { way: 'completes', card: 'x' } },
      middleware: { command: [{ tag: 't' }] },
    });
    expect(log.messages('warn')).toEqual([`The data of Charge ${id} were revealed`]);
    await manager.close();
  });

  it('can carry an event to a listener', async () => {
    const { manager, log } = testApplication({ encryption });
    await manager.connection().push(new Charge('completes', 'x'));
    await new EventBus(() => manager).dispatch(new Paid(`${CANARY}payer`));

    await new Worker({ stopWhenEmpty: true }, manager).run();

    expect(Thank).toBeDefined();
    expect(log.messages('error').join()).toContain('no thanks to ***');
    expect(JSON.stringify(await manager.failed.list())).not.toContain(CANARY);
    await manager.close();
  });
});

it('sensitive fields are masked where people look, and in errors; programs get them', async () => {
  @Job({ name: 'SignUp', sensitive: ['login.phrase', 'codes'], tries: 1 })
  class SignUp extends Job {
    constructor(
      readonly login: { readonly user: string; readonly phrase: string },
      readonly codes: readonly number[],
    ) {
      super();
    }
    handle(): void {
      throw new Error(`${this.login.user} may not use ${this.login.phrase} or ${this.codes[0]}`);
    }
  }
  const { manager, bus, log } = testApplication();
  const id = await bus.dispatch(new SignUp({ user: 'ada lovelace', phrase: 'open sesame' }, [777_888]));
  const waiting = await manager.connection().find(id);
  const raw = (await manager.driver().queues.peek!('default', 'ready', 1))[0]!.payload.toString();

  await new Worker({ stopWhenEmpty: true }, manager).run();

  expect(waiting.payload).toMatchObject({
    data: { command: { login: { user: 'ada lovelace', phrase: '***' }, codes: '***' } },
  });
  expect(raw).toContain('"sensitive":["/login/phrase","/codes"]');
  expect((await manager.connection().find(id)).error).toBe('Error: ada lovelace may not use *** or ***');
  expect(JSON.stringify([log.lines, await manager.connection().find(id)])).not.toMatch(/sesame|777888/);
  expect((await manager.connection().find(id, { reveal: true })).payload).toMatchObject({
    data: { command: { codes: [777_888] } },
  });
  await manager.close();
});

it('fakes and single runs seal and open as in production', async () => {
  Queue.configure({ connections: { main: { driver: 'memory' } }, encryption });
  const queue = Queue.fake();
  try {
    await dispatch(new Charge('completes', 'faked card'));
    queue.assertPushed(Charge, ({ card }) => card === 'faked card');
    expect(queue.pushes[0]!.text).not.toContain('faked card');
    const { completed } = await queue.drain();
    expect(completed[0]?.value).toEqual({ receipt: `${CANARY}receipt of faked card` });
    const { value } = await runJob(new Charge('completes', 'single'), { chain: [new Charge('fails', 'next')] });
    expect(value).toEqual({ receipt: `${CANARY}receipt of single` });
  } finally {
    queue.restore();
    await Queue.close();
  }
});
