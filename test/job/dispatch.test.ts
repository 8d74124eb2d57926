import { late } from '../../src/base/late-parts';
import { PendingChain, type PendingDispatch } from '../../src/job/pending';
import { Job, type JobDispatcher } from '../../src/job/job';

@Job()
class Greet extends Job {
  constructor(
    readonly name: string,
    readonly times = 1,
  ) {
    super();
  }
}

const pending = (id: string): PendingDispatch => Promise.resolve(id) as PendingDispatch;
const nothing = Promise.resolve(undefined) as PendingDispatch<undefined>;

describe('the static methods of a job', () => {
  describe('with a dispatcher', () => {
    const sent: [string, object][] = [];
    const recorder: JobDispatcher = {
      dispatchToQueue: (job) => (sent.push(['dispatch', job]), pending('an id')),
      dispatchSync: async (job) => (sent.push(['sync', job]), 'sync value'),
      dispatchNow: async (job) => (sent.push(['now', job]), 'now value'),
      none: () => nothing,
      chain: (links) => new PendingChain(links, (job) => (sent.push(['chain', job]), pending('an id'))),
    };
    beforeEach(() => {
      sent.length = 0;
      late.dispatcher = recorder;
    });

    it('construct the job from the given arguments and hand it over', async () => {
      expect(await Greet.dispatch('Ada', 2)).toBe('an id');
      expect(await Greet.dispatchSync('Bob')).toBe('sync value');
      expect(await Greet.dispatchNow('Cid')).toBe('now value');
      expect(sent).toEqual([
        ['dispatch', new Greet('Ada', 2)],
        ['sync', new Greet('Bob')],
        ['now', new Greet('Cid')],
      ]);
    });

    it('dispatch if the condition holds, which may depend on the job', async () => {
      expect(await Greet.dispatchIf(true, 'if')).toBe('an id');
      expect(await Greet.dispatchIf((job) => job.name === 'asked', 'asked')).toBe('an id');
      expect(await Greet.dispatchUnless(false, 'unless')).toBe('an id');
      expect(sent.map(([, job]) => (job as Greet).name)).toEqual(['if', 'asked', 'unless']);
    });

    it('dispatch nothing otherwise', async () => {
      expect(await Greet.dispatchIf(false, 'no')).toBeUndefined();
      expect(await Greet.dispatchUnless(true, 'no')).toBeUndefined();
      expect(await Greet.dispatchUnless((job) => job.times === 1, 'no')).toBeUndefined();
      expect(sent).toEqual([]);
    });

    it('accept any truthy or falsy value as a condition', async () => {
      await Greet.dispatchIf('ada@example.org' as never, 'truthy');
      await Greet.dispatchIf('' as never, 'falsy');
      expect(sent.map(([, job]) => (job as Greet).name)).toEqual(['truthy']);
    });
  });
});
