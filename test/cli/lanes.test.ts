import { withTies } from '../../src/payload/ties';
import { reserveFrom } from '../support/exchange';
import { CommandKit } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

async function push(lane: string, ...ids: readonly string[]): Promise<void> {
  const ties = { lane: { key: lane, running: 1, ordered: false } };
  const payload = (id: string): string => withTies(`{"job":"onqueue","data":{},"id":"${id}","attempts":0}`, ties);
  await kit.store.push(
    'sync',
    ids.map((id) => ({ payload: payload(id), ties })),
  );
}

describe('lanes', () => {
  it('lists the lanes of a queue', async () => {
    await push('tenant-7', 'a', 'b', 'c');
    await push('tenant-8', 'd');

    const { stdout, code } = await kit.run('lanes', 'sync');

    expect(stdout).toMatch(/^lane +in +held +may be in/);
    expect(stdout).toMatch(/tenant-7 +1 +2 +1\b/);
    expect(stdout).toMatch(/tenant-8 +1 +0 +1\b/);
    expect(code).toBe(0);
  });

  it('prints them as JSON, and says so if there are none', async () => {
    expect((await kit.run('lanes', 'sync')).stdout).toBe('No lane of sync of memory has jobs.\n');
    await push('a', 'a');
    expect(JSON.parse((await kit.run('lanes', 'sync', '--json')).stdout)).toEqual({
      connection: 'memory',
      queue: 'sync',
      items: [{ lane: 'a', inside: 1, held: 0, running: 1, paused: false }],
    });
  });

  it('lists page by page', async () => {
    for (let lane = 100; lane < 350; lane += 1) await push(`lane-${lane}`, `job-${lane}`);

    const { stdout, stderr } = await kit.run('lanes', 'sync');

    expect(stdout).toContain('lane-199');
    expect(stdout).not.toContain('lane-200');
    expect(stderr).toContain('--after=lane-199');
    expect((await kit.run('lanes', 'sync', '--after=lane-199', '--limit=500')).stdout).toMatch(/lane-200[^]*lane-349/);
  });

  it('sets a limit, removes it, pauses and resumes', async () => {
    await push('a', 'a', 'b', 'c', 'd');
    const lane = async (): Promise<unknown> => (await kit.store.lanes.list('sync')).lanes[0];
    const change = (...line: readonly string[]) => kit.run('lanes', 'sync', '--lane=a', ...line);

    expect((await change('--running=2')).stdout).toBe('a of sync lets in 2 at a time.\n');
    expect(await lane()).toMatchObject({ inside: 2, running: 2 });
    expect((await change('--pause')).stdout).toBe('Paused a of sync: it lets in no more jobs.\n');
    expect(await lane()).toMatchObject({ paused: true });
    expect((await change('--resume')).stdout).toBe('Resumed a of sync.\n');
    expect((await change('--none')).stdout).toBe('a of sync lets in as many as its jobs say.\n');
    expect(await lane()).toMatchObject({ inside: 2, running: 1, paused: false });
  });

  it.each([
    [['--lane=a'], 'give --lane together with one of'],
    [['--running=2'], 'give --lane together with one of'],
    [['--lane=a', '--pause', '--none'], 'give --lane together with one of'],
    [['--lane=a', '--running=0'], '--running'],
  ])('refuses %j', async (line, words) => {
    const { stderr, code } = await kit.run('lanes', 'sync', ...line);

    expect(code).toBe(2);
    expect(stderr).toContain(words);
  });
});

describe('inspect', () => {
  const stateOf = async (id: string): Promise<string | undefined> =>
    /^State +(.*)$/m.exec((await kit.run('inspect', id)).stdout)?.[1];

  it('says that a job waits because its lane is full or paused', async () => {
    await push('tenant-7', 'a', 'b', 'c');
    expect(await stateOf('c')).toBe('ready, but its lane tenant-7 is full: 1 of 1 running or next, and 2 held');
    await kit.store.lanes.change('sync', 'tenant-7', { paused: true });
    expect(await stateOf('c')).toBe('ready, but its lane tenant-7 is paused');
  });

  it('says that a job waits because its queue is full', async () => {
    const payload = (id: string): string => `{"job":"onqueue","data":{},"id":"${id}","attempts":0}`;
    await kit.store.push('sync', [{ payload: payload('a') }, { payload: payload('b') }]);
    await kit.store.control.limit!('sync', 1);
    expect(await stateOf('b')).toBe('ready');
    await reserveFrom(kit.store, { queues: ['sync'], limit: 1, lease: 60 });
    expect(await stateOf('b')).toBe('ready, but its queue is full: 1 of 1 running');
  });
});
