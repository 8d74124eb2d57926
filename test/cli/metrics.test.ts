import { eventually } from '../support/eventually';
import { parsePrometheus } from '../support/prometheus';
import { CommandKit, itemsIn } from './kit/command-kit';

let kit: CommandKit;

beforeEach(() => {
  kit = new CommandKit();
});

afterEach(() => kit.close());

const READY = 'onqueue_queue_jobs{connection="memory",queue="mail",state="ready"}';

describe('metrics', () => {
  it('prints the state of the queues', async () => {
    await kit.push('mail', 'A', 'B');
    await kit.fail('1', { queue: 'mail' });

    const { stdout, code } = await kit.run('metrics');

    const metrics = parsePrometheus(stdout);
    expect(metrics.get('onqueue_queue_jobs')!.samples.get(READY)).toMatchObject({ value: 2 });
    expect([...metrics.get('onqueue_failed_jobs')!.samples.keys()]).toContain(
      'onqueue_failed_jobs{connection="memory",queue="mail"}',
    );
    expect(metrics.get('onqueue_workers')!.samples.get('onqueue_workers{connection="memory"}')).toMatchObject({
      value: 0,
    });
    expect(code).toBe(0);
  });

  it('prints the same as JSON', async () => {
    await kit.push('mail', 'A');
    const { stdout } = await kit.run('metrics', '--json');
    expect(itemsIn(stdout)).toContainEqual(expect.objectContaining({ name: 'onqueue_queue_jobs', type: 'gauge' }));
  });

  it('serves them until told to stop, and asks the store at most once in five seconds', async () => {
    const running = kit.run('metrics', '--port=0');
    const address = String(await eventually(() => /http:\S+\/metrics/.exec(kit.printed)?.[0]));
    const value = async () => {
      const text = await (await fetch(address)).text();
      return parsePrometheus(text).get('onqueue_queue_jobs')!.samples.get(READY)?.value;
    };
    await kit.push('mail', 'A');
    expect(await value()).toBe(1);
    await kit.push('mail', 'B');
    expect(await value()).toBe(1);
    await kit.clock.advance('5s');
    expect(await value()).toBe(2);
    expect((await fetch(address.replace('/metrics', '/'))).status).toBe(404);
    expect((await fetch(address, { method: 'POST' })).status).toBe(405);

    kit.signal('SIGTERM');

    expect(await running).toMatchObject({ code: 0, stdout: '' });
    await expect(fetch(address)).rejects.toThrow('fetch failed');
  });

  it('tells a scraper that the store is away', async () => {
    const names = () => Promise.reject(new Error('the store is away'));
    const queues = { ...kit.store.queues, names };
    kit.connectors = { memory: () => Object.assign(kit.store.duplicate(), { queues }) };
    const running = kit.run('metrics', '--port=0');
    const address = String(await eventually(() => /http:\S+\/metrics/.exec(kit.printed)?.[0]));

    const response = await fetch(address);

    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ error: 'the store is away' });
    kit.signal('SIGTERM');
    await running;
  });

  it.each([
    [['--host=0.0.0.0'], '--host only works with --port'],
    [['--port=0', '--json'], '--json prints once'],
    [['--port=70000'], 'Give a port'],
  ])('refuses %j', async (line, sentence) => {
    const { stderr, code } = await kit.run('metrics', ...line);
    expect(stderr).toContain(sentence);
    expect(code).toBe(2);
  });
});
