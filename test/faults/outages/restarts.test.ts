import { eventually } from '../../support/eventually';
import { DurableRedis } from '../kit/durable-redis';
import { NO_FAULTS, OutageApplication } from './application';

let redis: DurableRedis;
let application: OutageApplication;

beforeEach(async () => {
  redis = await DurableRedis.start();
  application = new OutageApplication({ url: redis.url });
});

afterEach(async () => {
  await application.close();
  await redis.stop();
});

it.each([
  ['stopped', (): Promise<void> => redis.shutDown()],
  ['killed with SIGKILL', (): Promise<void> => redis.kill()],
])('a redis that is %s under load and restarted loses no job and duplicates none', async (_how, end) => {
  application.startTraffic();
  await application.progress();

  await end();
  await redis.startAgain();

  await application.progress();
  await application.settled();
  expect(application.faults).toEqual(NO_FAULTS);
});

it('an outage longer than the deadline fails dispatches at the deadline, and its start and end are logged once', async () => {
  await application.works();
  await redis.kill();
  await application.dispatch();
  const failure = await application.dispatch();
  await eventually(() => application.said.length > 0, { of: 'a word of the worker' });

  await redis.startAgain();
  await application.works();

  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: false } });
  expect(application.faults).toEqual(NO_FAULTS);
  expect(application.said).toEqual([
    expect.stringMatching(/^(error|warn): Redis at .* did not answer in 1 s \(.*ECONNREFUSED/),
    `info: redis://127.0.0.1:${redis.port}/0 answers again.`,
  ]);
});

it('a redis that comes back without its data runs new jobs, and running ones are logged as lost', async () => {
  await application.hold();
  await redis.kill();
  await redis.startEmpty();

  await application.works();
  application.letGo();

  await eventually(() => application.log.messages('warn').some((message) => message.startsWith('Held was lost')));
  expect(application.said.join('\n')).toContain('has lost data that it had confirmed');
  expect(await application.driver.queues.names()).toEqual(['default']);
});
