import type { Duration } from '../../../src/job/duration';
import { eventually } from '../../support/eventually';
import { type RedisServer, startRedisServer } from '../../support/redis-server';
import { SilentListener } from '../kit/silent-listener';
import { meantToPass } from '../../support/meant-to-pass';
import { NO_FAULTS, OutageApplication } from './application';

let redis: RedisServer;
let listener: SilentListener;
let application: OutageApplication;

beforeAll(async () => {
  redis = await startRedisServer();
});

afterAll(() => redis.stop());

beforeEach(async () => {
  listener = await SilentListener.start(redis.port);
});

afterEach(async () => {
  await application.close();
  await listener.stop();
});

const open = (deadline: Duration): void => {
  const prefix = `${expect.getState().currentTestName}:`;
  application = new OutageApplication({ url: `redis://127.0.0.1:${listener.port}/0`, prefix, deadline });
};

it('a dispatch to an address that drops connections fails at its deadline and says that nothing was done', async () => {
  await listener.fallSilent();
  open(meantToPass('1s'));

  const failure = await application.dispatch();

  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: false } });
  expect(failure?.message).toContain('did not answer in 1 s (no connection came about); Step was not queued');
});

it('with a longer deadline the error says that the attempt to connect was not answered', async () => {
  await listener.fallSilent();
  open(meantToPass('5s'));

  const failure = await application.dispatch();

  expect(failure).toMatchObject({ facts: { uncertain: false, reason: 'connect ETIMEDOUT' } });
});

it('a worker keeps trying and starts when the address answers', async () => {
  await listener.fallSilent();
  open(meantToPass('1s'));
  await eventually(() => application.said.length > 0, { of: 'a word of the worker' });

  listener.answer();

  await application.works();
  expect(application.said).toEqual([
    expect.stringContaining('did not answer in 1 s (no connection came about)'),
    expect.stringContaining('answers again'),
  ]);
});

it('an address that starts to drop connections under load loses no job and duplicates none', async () => {
  open(meantToPass('1s'));
  application.startTraffic();
  await application.progress();
  await listener.fallSilent();
  await eventually(() => application.said.length > 0, { of: 'a word of the worker' });

  listener.answer();

  await application.progress();
  await application.settled();
  expect(application.faults).toEqual(NO_FAULTS);
});

it('a worker and a dispatcher that never connected can still be closed', async () => {
  await listener.fallSilent();
  open(meantToPass('1s'));
  const dispatching = application.dispatch();

  await application.close();

  expect(await dispatching).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
});
