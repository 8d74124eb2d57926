/**
 * Encrypted jobs in singles, chains, batches and a schedule, whose worker processes are killed with SIGKILL and replaced by those of the
 * next deploy, while their key is changed. Then their secrets are looked for in all that can be read.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors, type Configuration, QueueManager, silentLogger } from '../../../src/index';
import { CommandKit } from '../../cli/kit/command-kit';
import { served } from '../../dashboard/kit/served';
import { meantToPass } from '../../support/meant-to-pass';
import { startRedisServer } from '../../support/redis-server';
import { Crew } from '../kit/crew';
import { Carry, type Fate, Secret, Tagged } from '../kit/programs/jobs';
import { Stage, type StoreName } from '../kit/stage';
import { type Soak, tally } from './soak';

interface Size {
  readonly lease: number;
  /** Rounds in which the jobs of each kind are sent, for each of the three deploys. */
  readonly rounds: number;
  /** In each of the three deploys. */
  readonly kills: number;
}

/** Every secret begins like this, and is otherwise different. */
const CANARY = 'canary-';
/** And has this in it. */
const LONG = 'abcdefgh'.repeat(3);
/** In the clear, to prove that it would be found. */
const PLAIN = 'plain-bird';
const FATES: readonly Fate[] = ['completes', 'retries', 'fails', 'cannot be parsed'];
/** Jobs of a round that run, and those of them that fail. */
const [RUN, FAIL] = [13, 3];
/** Milliseconds that each takes. */
const TAKES = 20;
const WORKERS = 4;

const [old, young] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
/** The three steps in which a key is changed. */
const DEPLOYS = [
  { use: 'old', keys: { old } },
  { use: 'old', keys: { old, young } },
  { use: 'young', keys: { old, young } },
  { use: 'young', keys: { young } },
] as const;

export const killedSecrets: Soak<Size> = {
  name: 'secrets',
  title: 'encrypted jobs of all kinds, whose worker processes are killed with SIGKILL while their key is changed',
  figure:
    '0 jobs lost, none failed that was not to; no secret in the store, its files and dumps, the log, the dashboard or the commands',
  stores: ['redis', 'sqlite', 'postgres', 'mysql'],
  // test/worker/encrypted.test.ts looks for secrets without kills.
  inTests: [],
  sizes: {
    test: { lease: meantToPass(6), rounds: 4, kills: 1 },
    soak: { lease: meantToPass(4), rounds: 60, kills: 12 },
    full: { lease: meantToPass(4), rounds: 100, kills: 20 },
  },

  async play(store, { lease, rounds, kills }) {
    const redis =
      store === 'redis'
        ? await startRedisServer({ args: ['--appendonly', 'yes', '--appendfsync', 'no', '--rdbcompression', 'no'] })
        : undefined;
    const stage = await Stage.open(store, { lease, redis, encryption: DEPLOYS[0] });
    const programs = DEPLOYS.map((encryption) => program(stage, encryption));
    try {
      await new JobBus(() => stage.manager).dispatch(new Carry(PLAIN, '')).onQueue('aside').delay('1h');
      let sent = 0;
      for (const step of [1, 2, 3]) {
        // Each step begins with the processes of the one before, and in the last one nobody has the old key.
        await stage.dismiss();
        stage.encryption = DEPLOYS[step === 3 ? 3 : step - 1];
        const crew = new Crew(stage, WORKERS, { concurrency: 5 });
        stage.encryption = DEPLOYS[step];
        for (let round = 0; round < rounds; round += 1)
          await send(programs[step - (round % 2)]!, `${step}-${round}`, stage);
        const isOver = (): boolean => stage.ledger.count('done') >= (sent + rounds) * (RUN - FAIL);
        const begun = sent * (RUN - FAIL);
        for (let kill = 1; kill <= kills; kill += 1)
          await crew.killOne(begun + (kill * rounds * (RUN - FAIL)) / (kills + 1), { isOver });
        await stage.drained();
        sent += rounds;
      }
      await stage.dismiss();

      const { lines } = stage.ledger;
      const ran = new Set(lines.filter(({ event }) => event === 'started').map(({ id }) => id));
      stage.dispatched.splice(0, Infinity, ...new Set([...stage.dispatched, ...ran]));
      const account = await stage.account({ firstTries: false });
      const [looked, offences] = await lookThrough(stage, store, programs[2]!);
      const wanted = { jobs: sent * RUN, failed: sent * FAIL };
      if (account.dispatched !== wanted.jobs) offences.push(`${account.dispatched} jobs ran, of ${wanted.jobs}`);
      if (account.failed !== wanted.failed) offences.push(`${account.failed} failed, and ${wanted.failed} were to`);
      return {
        reached: `${tally(account)}; ${3 * kills} kills; ${Math.round(looked / 1_000_000)} MB looked through`,
        offences: [...account.offences, ...offences],
      };
    } finally {
      await Promise.all(programs.map((manager) => manager.close()));
      await stage.close();
    }
  },
};

function program({ config }: Stage, encryption: Configuration['encryption']): QueueManager {
  const environment = { connectors: builtInConnectors, logger: silentLogger };
  return new QueueManager(environment, { connections: { store: config }, ...(encryption && { encryption }) });
}

/** Jobs of each kind: `RUN` of them run, and `FAIL` fail. */
async function send(manager: QueueManager, number: string, stage: Stage): Promise<void> {
  const bus = new JobBus(() => manager);
  let count = 0;
  const secret = (fate: Fate): Secret => new Secret(fate, TAKES, `${CANARY}${number}-${count++}-${LONG}`);
  for (const fate of FATES) stage.dispatched.push(await bus.dispatch(secret(fate)).through(new Tagged(`${CANARY}tag`)));
  await bus
    .chain([secret('retries'), secret('fails'), secret('completes')])
    .catch(secret('completes'))
    .dispatch();
  await bus
    .batch([secret('completes'), secret('retries'), [secret('completes'), secret('completes')]])
    .then(secret('completes'))
    .finally(secret('completes'))
    .dispatch();
  await manager.schedules.put('yearly', { cron: '0 0 1 1 *' }, secret('completes'));
}

/** Returns how many characters there were. */
async function lookThrough(stage: Stage, store: StoreName, manager: QueueManager): Promise<[number, string[]]> {
  const failed = await manager.failed.list({ limit: 20 });
  const completed = stage.ledger.lines.findLast(({ event }) => event === 'completed')!.id;
  const texts = new Map<string, string>();
  for (const folder of stage.folders)
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (entry.isFile() && !entry.name.endsWith('.js'))
        texts.set(entry.name, readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  const url = 'url' in stage.config ? String(stage.config.url) : '';
  const { port } = new URL(url.replace('sqlite:', 'file:'));
  const options = { encoding: 'latin1', maxBuffer: 1 << 30 } as const;
  if (store === 'postgres') texts.set('pg_dump', execFileSync('pg_dump', [url], options));
  if (store === 'mysql') {
    const line = ['--no-defaults', '-h127.0.0.1', `-P${port}`, '-uonqueue', '-psecret', '--skip-hex-blob', 'onqueue'];
    texts.set('mariadb-dump', execFileSync('mariadb-dump', line, options));
  }
  await using panel = await served(manager);
  const ids = [...failed.slice(0, 5).map(({ id }) => id), completed];
  for (const page of [
    '',
    'failed',
    'queue?name=default',
    'runs',
    'batches',
    'schedules',
    ...ids.map((id) => `job?id=${id}`),
  ])
    texts.set(`page ${page}`, (await panel.get(page)).text);
  const configuration = { connections: { store: stage.config }, encryption: DEPLOYS[2] };
  const kit = new CommandKit({ 'onqueue.config.js': `module.exports = ${JSON.stringify(configuration)};` });
  kit.connectors = builtInConnectors;
  const commands = ['failed --json', `failed ${ids[0]}`, `inspect ${ids[1]} --json`, `inspect ${completed}`];
  for (const line of [
    ...commands,
    'batches',
    'schedule:list',
    'jobs --state=completed --json',
    'encryption',
    'check',
  ]) {
    const { stdout, stderr } = await kit.run(...line.split(' '));
    texts.set(`onqueue ${line}`, stdout + stderr);
  }
  await kit.close();
  const offences: string[] = [];
  for (const [name, text] of texts) {
    for (const word of [CANARY, 'abcdefgh', ...encoded(LONG)]) {
      const at = text.indexOf(word);
      if (at !== -1)
        offences.push(`a secret is in ${name}: ${JSON.stringify(text.slice(Math.max(0, at - 80), at + 40))}`);
    }
  }
  if (![...texts.values()].some((text) => text.includes(PLAIN))) offences.push('what is in the clear was not found');
  return [[...texts.values()].reduce((sum, { length }) => sum + length, 0), offences];
}

/** As base64 has it within other texts, and in hexadecimal digits. */
function encoded(word: string): readonly string[] {
  const shifted = ['', '_', '__'].map((before) =>
    Buffer.from(before + word)
      .toString('base64')
      .slice(4, -4),
  );
  return [...shifted, Buffer.from(word).toString('hex')];
}
