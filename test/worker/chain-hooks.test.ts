import { ALL_CAPABLE, type Connectors } from '../../src/connections/driver';
import { builtInConnectors } from '../../src/connections/built-in';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { JobBus } from '../../src/dispatch/bus';
import { QueueManager } from '../../src/application/queue-manager';
import type { QueuedEvent } from '../../src/job/hooks';
import { Job } from '../../src/job/job';
import { TestClock } from '../../src/testing/test-clock';
import { Worker } from '../../src/worker/worker';
import { Gate, RecordingLogger, until } from '../support/application';

@Job({ retryUntil: '1h' })
class Link extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    if (this.text === 'breaks') this.fail('it broke');
  }
}

/** Like stores that cannot push jobs together with an outcome. */
class TakesNothing extends MemoryConnection {
  override readonly capabilities = { ...ALL_CAPABLE, follows: false };
}

let clock: TestClock;
let manager: QueueManager;
let heard: string[];
let events: QueuedEvent[];

function given(Driver: typeof MemoryConnection = MemoryConnection): void {
  clock = new TestClock();
  const stores = new Map<string, MemoryStore>();
  const memory: Connectors['memory'] = (_config, { name }) => {
    const store = stores.get(name) ?? new MemoryStore(name, clock);
    stores.set(name, store);
    return new Driver(name, store);
  };
  manager = new QueueManager(
    { connectors: { ...builtInConnectors, memory }, logger: new RecordingLogger(), clock },
    {
      default: 'main',
      connections: { main: { driver: 'memory' }, other: { driver: 'memory' }, sync: { driver: 'sync' } },
    },
  );
  heard = [];
  events = [];
  const { hooks } = manager;
  const nameOf = ({ payload }: QueuedEvent): string =>
    (JSON.parse(payload) as { data: { command: { text: string } } }).data.command.text;
  hooks.on('queueing', (event) => heard.push(`queueing ${nameOf(event)}`));
  hooks.on('queued', (event) => {
    heard.push(`queued ${nameOf(event)}`);
    events.push(event);
  });
  hooks.on('after', ({ job }) => heard.push(`after ${job.name}`));
}

const chain = (...links: Link[]) => new JobBus(() => manager).chain(links);
const work = (connection: string): Promise<unknown> =>
  new Worker({ connection, stopWhenEmpty: true, tries: 1 }, manager).run();

afterEach(() => manager.close());

describe('the hook queued', () => {
  it.each([
    ['in the step that ends the previous link', MemoryConnection],
    ['before the step that ends the previous link', TakesNothing],
  ])('is called once the store has a link that is pushed %s', async (_when, driver) => {
    given(driver);
    await chain(new Link('a'), new Link('b').onQueue('mine').delay('1m')).dispatch();
    expect(heard).toEqual(['queueing a', 'queued a']);
    await work('main');

    expect(heard.slice(2)).toEqual(['queued b', 'after Link']);
    const [waiting] = await manager.driver('main').queues.peek!('mine', 'delayed', 1);
    expect(events[1]).toEqual({
      connectionName: 'main',
      queue: 'mine',
      id: (JSON.parse(events[1]!.payload) as { id: string }).id,
      name: 'Link',
      payload: waiting!.payload.toString(),
      delay: 60,
    });
    expect(events[1]!.payload).toContain('"retryUntil":');
  });

  it.each([
    ['a carrier', MemoryConnection],
    ['a carrier that was pushed before the outcome', TakesNothing],
  ])(
    'is called for a link that %s takes to another connection when it arrives, but not for the carrier',
    async (_how, driver) => {
      given(driver);
      await chain(new Link('a'), new Link('b').onConnection('other')).dispatch();
      await work('main');
      expect(heard.filter((what) => what.startsWith('queued'))).toEqual(['queued a', 'queued b']);
      expect(events[1]).toMatchObject({ connectionName: 'other', queue: 'default', name: 'Link' });
    },
  );

  it('is called for the catch() job of a failed link, and for links that run on a sync connection', async () => {
    given();
    await chain(new Link('breaks'), new Link('never')).catch(new Link('alert')).dispatch();
    await work('main');
    expect(heard).toEqual(['queueing breaks', 'queued breaks', 'queued alert', 'after Link']);

    heard = [];
    await chain(new Link('c'), new Link('d')).onConnection('sync').dispatch();
    expect(heard).toEqual(['queueing c', 'after Link', 'after Link', 'queued d', 'queued c']);
  });

  it('is not called for the next link if the previous job was lost', async () => {
    given();
    await chain(new Link('a'), new Link('b')).dispatch();
    jest.spyOn(MemoryStore.prototype, 'settle').mockImplementation((all) => all.map(() => 'lost'));
    await work('main');
    jest.restoreAllMocks();
    expect(heard).toEqual(['queueing a', 'queued a']);
  });

  it.each([
    ['in the step of the outcome', MemoryConnection],
    ['before the outcome', TakesNothing],
  ])('does not delay the outcome, however long it takes, if the next link is pushed %s', async (_when, driver) => {
    given(driver);
    const gate = new Gate();
    await chain(new Link('a'), new Link('b').delay('1h')).dispatch();
    manager.hooks.on('queued', () => gate.opened);
    const worker = new Worker({ connection: 'main' }, manager);
    const ended = worker.run();
    await until(clock, () => heard.includes('queued b'));
    await until(clock, () => worker.health().outcomes.completed === 1);
    expect(await manager.connection('main').counts('default')).toMatchObject({ reserved: 0, delayed: 1 });
    gate.open();
    await worker.stop();
    await ended;
  });
});
