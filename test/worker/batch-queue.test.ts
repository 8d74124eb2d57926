import { late } from '../../src/base/late-parts';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';

import { testApplication, type TestApplication } from '../support/application';

let application: TestApplication;
let ran: string[];

@Job({ queue: 'of-class' })
class Note extends Job {
  constructor(readonly text: string) {
    super();
  }
  handle(): void {
    ran.push(`${this.text} in ${this.job.queue}`);
  }
}

@Job({ queue: 'of-class' })
class Adds extends Job {
  constructor(readonly how: 'add' | 'addNow') {
    super();
  }
  async handle(): Promise<void> {
    const jobs = [[new Note('added'), new Note('behind')], new Note('chosen').onQueue('own')];
    await this.job.batch![this.how](jobs);
  }
}

/** Adds a job that adds. */
@Job({ queue: 'of-class' })
class AddsAdds extends Job {
  handle(): void {
    this.job.batch!.add([[new Note('between'), new Adds('add')]]);
  }
}

beforeEach(() => {
  ran = [];
  application = testApplication({
    connections: { memory: { driver: 'memory' }, other: { driver: 'memory' } },
    default: 'memory',
  });
  late.dispatcher = application.bus;
});
afterEach(() => application.manager.close());

const work = async (queue: readonly string[]): Promise<void> =>
  void (await new Worker({ queue, stopWhenEmpty: true, concurrency: 1 }, application.manager).run());
const batch = async () => (await application.manager.batches.list())[0]!;

describe('jobs that are added to a batch', () => {
  it.each([
    ['add()', new Adds('add'), 4],
    ['addNow()', new Adds('addNow'), 4],
    ['add() of a job that was added', new AddsAdds(), 6],
  ])('go to the queue of its onQueue(), unless they choose one themselves (%s)', async (_how, job, total) => {
    await application.bus.batch([job]).onQueue('images').dispatch();
    await work(['images']);
    expect(await batch()).toMatchObject({ pending: 1, total });
    expect(ran.filter((text) => !text.startsWith('between'))).toEqual(['added in images', 'behind in images']);
    await work(['own']);
    expect(ran.at(-1)).toBe('chosen in own');
    expect(await batch()).toMatchObject({ isFinished: true, completed: total });
  });

  it('go to the queues of their classes without it', async () => {
    await application.bus.batch([new Adds('add'), new Adds('addNow')]).dispatch();
    await work(['of-class']);
    expect(ran.filter((text) => text.endsWith('of-class'))).toHaveLength(4);
  });

  it('go there from a batch in a chain, and from what it sends', async () => {
    const { bus } = application;
    const members = [new Adds('add'), new Note('a'), new Note('b').onQueue('own')];
    const inner = bus.batch(members).progress(new Adds('addNow'), { every: 5 });
    await bus.chain([inner.onQueue('images'), new Note('next').onQueue('images')]).dispatch();
    // After four jobs of six, two wait in the other queue; one of them is the fifth.
    await work(['images']);
    await work(['own', 'images']);
    expect(ran.filter((text) => text.endsWith('of-class'))).toEqual([]);
    expect(ran).toContain('added in images');
    expect(ran.at(-1)).toBe('next in images');
  });

  it.each(['no callback', 'a callback', 'a callback on another connection'])(
    'go there from outside as well, if the batch has %s',
    async (what) => {
      const pending = application.bus.batch([new Note('a')]).onQueue('images');
      if (what === 'a callback') pending.then(new Note('then'));
      if (what.endsWith('connection')) pending.progress(new Note('ten').onConnection('other'), { every: 10 });
      const { id } = await pending.dispatch();
      const found = await application.manager.batches.get(id);
      expect(await found!.callbacks()).toHaveLength(what === 'no callback' ? 0 : 1);
      expect(await found!.add([new Note('b')])).toBe(1);
      await work(['images']);
      expect(ran.slice(0, 2)).toEqual(['a in images', 'b in images']);
      expect(await batch()).toMatchObject({ completed: 2, isFinished: true });
    },
  );
});
