import type { Queues } from '../../src/connections/contract';
import { Job } from '../../src/job/job';
import { replaceDefaultManager } from '../../src/application/default-manager';
import { Queue } from '../../src/application/queue';
import { shownJob } from '../../src/operations/listed-job';
import { uuidv7 } from '../../src/payload/uuid';
import { Worker } from '../../src/worker/worker';
import { Gate } from '../support/application';
import { hostileTexts } from '../support/hostile-texts';
import { watchedApplication } from '../support/watched-application';

let run: () => Promise<void> = async () => undefined;

@Job({ tries: 3 })
class Render extends Job {
  constructor(
    readonly film: string,
    readonly login?: object,
  ) {
    super();
  }

  async handle(): Promise<void> {
    await run();
  }
}

function given() {
  const app = watchedApplication({
    default: 'main',
    connections: {
      main: { driver: 'memory', queue: 'usual', retryAfter: 30 },
      other: { driver: 'memory' },
      nowhere: { driver: 'null' },
    },
  });
  replaceDefaultManager(app.manager);
  run = async () => undefined;
  return { ...app, main: app.manager.connection('main') };
}

afterEach(async () => {
  await Queue.close();
});

describe('looking up a job by its id', () => {
  it('shows where a waiting job is, its class, its data and since when it waits', async () => {
    const { main } = given();
    const before = Date.now();
    const id = await main.push(new Render('Alien'), 'films');

    const found = await Queue.find(id);

    expect(found).toMatchObject({
      id,
      name: 'Render',
      connection: 'main',
      queue: 'films',
      state: 'ready',
      isSure: true,
    });
    expect(found).toMatchObject({ attempts: 0, tries: 3, payload: { id, data: { command: { film: 'Alien' } } } });
    expect(found.createdAt!.getTime()).toBeGreaterThanOrEqual(before);
    expect(found.at).toBeUndefined();
  });

  it('shows when a delayed job becomes ready', async () => {
    const { main, clock } = given();
    const id = await main.later('1h', new Render('Alien'));

    expect(await main.find(id)).toMatchObject({ state: 'delayed', at: new Date(clock.now() + 3_600_000) });
  });

  it('shows the attempt of a running job and the end of its lease', async () => {
    const { main, manager, clock } = given();
    const [started, gate] = [new Gate(), new Gate()];
    run = () => (started.open(), gate.opened);
    const id = await main.push(new Render('Alien'));
    const worker = new Worker({}, manager);
    const working = worker.run();
    await started.opened;

    expect(await main.find(id)).toMatchObject({
      state: 'running',
      queue: 'usual',
      attempts: 1,
      at: new Date(clock.now() + 30_000),
    });

    gate.open();
    await worker.stop();
    await working;
    expect(await main.find(id)).toMatchObject({
      id,
      connection: 'main',
      queue: 'usual',
      state: 'completed',
      attempts: 1,
    });
  });

  it('shows when a job failed, after how many attempts and with which error', async () => {
    const { main, manager, clock } = given();
    run = async () => {
      throw new Error('no film');
    };
    const id = await main.push(new Render('Alien'));
    await new Worker({ stopWhenEmpty: true }, manager).run();

    expect(await main.find(id)).toMatchObject({
      id,
      name: 'Render',
      connection: 'main',
      queue: 'usual',
      state: 'failed',
      attempts: 3,
      failedAt: new Date(clock.now()),
      error: 'Error: no film',
      payload: { data: { command: { film: 'Alien' } } },
      isSure: true,
    });
    expect(await main.find(id, { queue: 'elsewhere' })).toMatchObject({ state: 'unknown' });
  });

  it('searches the named connection and queue', async () => {
    const { manager } = given();
    const id = await manager.connection('other').push(new Render('Alien'), 'films');

    expect(await Queue.find(id)).toMatchObject({ state: 'unknown', connection: 'main' });
    expect(await Queue.find(id, { connection: 'other' })).toMatchObject({ state: 'ready', connection: 'other' });
    expect(await Queue.find(id, { connection: 'other', queue: 'usual' })).toMatchObject({ state: 'unknown' });
    await expect(Queue.find(id, { connection: 'none' })).rejects.toMatchObject({ code: 'E_UNKNOWN_CONNECTION' });
  });

  it('is not sure that a job is unknown if only some of the jobs were searched', async () => {
    const { main, watched } = given();
    jest.spyOn(watched('main').queues as Required<Queues>, 'find').mockResolvedValue('unseen' as never);

    expect(await main.find('1')).toEqual({ id: '1', connection: 'main', state: 'unknown', isSure: false, history: [] });
  });

  it('refuses a driver that cannot search, unless the job has failed', async () => {
    const { manager, main } = given();
    const nowhere = manager.connection('nowhere');
    const payload = Buffer.from('{"job":"Mail","data":null,"id":"1","attempts":2}');
    const entry = { id: '1', name: 'Mail', queue: 'mail', attempts: 2, payload, exception: 'Error: full\n    at mail' };
    const { failed } = manager.driver('main');
    await failed!.put({ ...entry, connection: 'nowhere' });

    await failed!.put({ ...entry, id: '3', connection: 'other' });
    await expect(nowhere.find('3')).rejects.toMatchObject({ code: 'E_CAPABILITY' });
    expect(await nowhere.find('1')).toMatchObject({ state: 'failed', connection: 'nowhere', error: 'Error: full' });
    await expect(nowhere.find('2')).rejects.toMatchObject({ code: 'E_CAPABILITY' });
    await expect(nowhere.find('1', { queue: 'other' })).rejects.toMatchObject({ code: 'E_CAPABILITY' });
    expect(await main.find('1')).toMatchObject({ state: 'failed', connection: 'nowhere' });
  });

  it.each([[undefined], [''], [7], [Promise.resolve('1')]])('refuses %p as an id', async (id) => {
    given();

    await expect(Queue.find(id as string)).rejects.toMatchObject({ code: 'E_INVALID_JOB_ID' });
  });

  it('refuses an invalid queue name', async () => {
    given();

    await expect(Queue.find('1', { queue: 'a,b' })).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
  });
});

describe('the shown payload', () => {
  const { manager } = watchedApplication();
  const shown = (text: string) => shownJob(Buffer.from(text), manager);

  it('has everything masked that looks like a secret, however deep it lies', async () => {
    const { main } = given();
    const login = { a: [{ b: { c: { d: { e: { apiKey: 'k-1', token: 7, url: 'redis://:geheim@db/0' } } } } }] };
    const id = await main.push(new Render('Alien', login));

    const text = JSON.stringify(await main.find(id));

    expect(text).toContain('"apiKey":"***","token":"***","url":"redis://:***@db/0"');
    expect(text).not.toMatch(/k-1|geheim/);
  });

  it('of a class that is not known here is read from its text', () => {
    expect(shown('{"displayName":"Gone","job":"Gone","maxTries":5,"data":[1],"id":"7","attempts":2}')).toMatchObject({
      id: '7',
      name: 'Gone',
      attempts: 2,
      tries: 5,
      createdAt: undefined,
      payload: { data: [1] },
    });
  });

  it('that no worker can read is cut to its beginning, without secrets', () => {
    const text = `{"displayName":"Mail","job":"Mail","password":"geheim","x":${'['.repeat(2000)}`;

    const { name, payload } = shown(text);

    expect(name).toBe('Mail');
    expect(payload).toMatch(/^\{"displayName":"Mail","job":"Mail","password":"\*\*\*","x":\[+…$/);
    expect(shown('no json')).toMatchObject({ id: undefined, name: '(unreadable)', payload: 'no json' });
    const cut = `${' '.repeat(985)}redis://app:hunter2-and-more@cache`;
    expect(JSON.stringify(shown(cut))).not.toContain('hunt');
  });

  it('is shown whatever the text is', () => {
    for (const text of hostileTexts(14, 500)) expect(typeof shownJob(text, manager).name).toBe('string');
  });

  it('has the creation time of its id if the id was made by Onqueue', () => {
    const at = (id: string) => shown(`{"job":"Mail","data":null,"id":"${id}","attempts":0}`).createdAt?.getTime();

    expect(at(uuidv7())).toBeGreaterThan(Date.now() - 60_000);
    expect(at('019aa7f3-5a00-7000-8000-000000000000')).toBe(0x019aa7f35a00);
    expect(at('6ba7b810-9dad-41d1-80b4-00c04fd430c8')).toBeUndefined();
  });
});
