import { UnsavedRedis } from '../kit/unsaved-redis';
import { eventually } from '../../support/eventually';
import { NO_FAULTS, OutageApplication } from './application';
import { reserveFrom, settleIn } from '../../support/exchange';

let redis: UnsavedRedis;
let application: OutageApplication;

beforeEach(async () => {
  redis = await UnsavedRedis.start();
  application = new OutageApplication({ url: redis.server.url });
});

afterEach(async () => {
  await application.close();
  await redis.stop();
});

const payload = '{"job":"probe","data":{},"id":"a","attempts":0}';

it('a redis that cannot save refuses jobs at once with the remedy', async () => {
  await application.works();
  await redis.refuseToSave();

  const failure = await application.dispatch();

  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true, uncertain: false } });
  expect(failure).not.toMatchObject({ facts: { deadline: expect.anything() as unknown } });
  expect(failure?.message).toMatch(/refused \(MISCONF .* was not queued\. It cannot save its data; see its log/);
  await redis.saveAgain();
  await application.works();
  expect(application.faults).toEqual(NO_FAULTS);
});

it('check says that a redis which goes on without its snapshots cannot save them', async () => {
  await redis.refuseToSave();
  await redis.goOnUnsaved();

  expect(await application.driver.diagnose()).toContainEqual({
    level: 'warning',
    subject: 'persistence',
    message: 'Redis could not save its last snapshot. See its log, and whether its disk is full.',
    endangersJobs: true,
  });
});

it.each([
  ['completes', 'Held completed'],
  ['fails', 'HeldToFail failed'],
] as const)('the outcome of a job that %s meanwhile is stored when it can save again', async (end, line) => {
  await application.hold(end);
  await redis.refuseToSave();
  application.letGo();
  await eventually(() => application.said.some((said) => said.startsWith('error: ') && said.includes('MISCONF')));

  await redis.saveAgain();

  await eventually(() => application.log.lines.some(({ message }) => message.startsWith(line)));
  await application.works();
  await application.settled();
  expect(application.faults).toEqual(NO_FAULTS);
  expect(application.said).toEqual([
    expect.stringContaining('It cannot save its data'),
    expect.stringContaining('answers again'),
  ]);
  expect(application.log.lines.filter(({ message }) => message.includes('lost'))).toEqual([]);
});

it('while redis cannot save, no reserve, settle or renewal changes anything, and each is done afterwards', async () => {
  const { driver } = application;
  const request = { queues: ['other'], limit: 1, lease: 60 };
  await driver.push('other', [{ payload }, { payload: payload.replace('"a"', '"b"') }]);
  const { reservations } = await reserveFrom(driver, request);
  const [reservation] = reservations;
  await redis.refuseToSave();

  const refused = { code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true, uncertain: false } };
  await expect(reserveFrom(driver, request)).rejects.toMatchObject(refused);
  await expect(settleIn(driver, [{ outcome: 'completed', reservation: reservation! }])).rejects.toMatchObject(refused);
  await expect(driver.renew!(reservations, 60)).rejects.toMatchObject(refused);
  expect(await driver.queues.counts('other')).toEqual({ ready: 1, delayed: 0, reserved: 1 });

  await redis.saveAgain();
  expect(await driver.renew!(reservations, 60)).toEqual(['renewed']);
  expect(await settleIn(driver, [{ outcome: 'completed', reservation: reservation! }])).toEqual(['settled']);
  expect((await reserveFrom(driver, request)).reservations).toHaveLength(1);
});
