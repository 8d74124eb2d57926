import { latencyOf } from '../../../src/connections/kit/requirements';
import { TestClock } from '../../../src/testing/test-clock';

async function latency(milliseconds: number) {
  const clock = new TestClock();
  return latencyOf(clock, 'two', () => clock.advance(milliseconds / 1000));
}

it('reports the time of a round trip', async () => {
  expect(await latency(20)).toEqual({ level: 'ok', subject: 'latency', message: '20 ms for a round trip' });
});

it('warns of a store that is far away, with the number of round trips for each job', async () => {
  expect(await latency(21)).toEqual({
    level: 'warning',
    subject: 'latency',
    message: '21 ms for a round trip; each job takes two. Bring the worker nearer to the server.',
  });
});
