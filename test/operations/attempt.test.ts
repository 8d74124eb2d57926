import { type JobHistory, withRun } from '../../src/operations/history/attempt';
import { noCounters } from '../../src/payload/counters';

const history: JobHistory = {
  name: 'Probe',
  connection: 'main',
  queue: 'default',
  told: { crashes: 0, timeouts: 0 },
  attempts: [],
};

it.each([2 ** 31, 1e15])(
  'the history of a job stays bounded even if its counters were forged to %d crashes',
  (crashes) => {
    const counters = { ...noCounters, attempts: 1, crashes, timeouts: crashes };
    const { attempts } = withRun(history, { fence: 2 * crashes, counters, at: 0, attempt: undefined });
    expect(attempts).toHaveLength(200);
    expect(attempts.at(-1)).toMatchObject({ outcome: 'crashed', fence: 2 * crashes - 1 });
  },
);
