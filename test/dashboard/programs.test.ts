/** What programs get when they act through the dashboard. */
import { type Served, served } from './kit/served';
import { openWorld, type World } from './kit/world';

const ASKS_FOR_JSON = { accept: 'application/json', authorization: 'Bearer token' };

let world: World;
let panel: Served;

beforeAll(async () => {
  world = await openWorld();
  panel = await served(world.manager);
});

afterAll(async () => {
  await panel[Symbol.asyncDispose]();
  await world.close();
});

async function act(
  action: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = ASKS_FOR_JSON,
) {
  const { status, headers: given, text } = await panel.post(action, fields, headers);
  return { status, type: given.get('content-type'), cookies: given.getSetCookie(), body: JSON.parse(text) as unknown };
}

const errorOf = (code: string, message: string): unknown => ({
  error: { code, message: expect.stringContaining(message) as unknown },
});

it.each([
  ['that ask for JSON', ASKS_FOR_JSON],
  ['with only a token', { accept: '*/*', authorization: 'Bearer token' }],
])('programs %s are told what was done and how to undo it', async (_which, headers) => {
  const fields = { connection: world.connection, queue: 'media' };

  expect(await act('pause-queue', fields, headers)).toEqual({
    status: 200,
    type: 'application/json',
    cookies: [],
    body: {
      done: expect.stringContaining('media is paused') as unknown,
      undo: { action: 'resume-queue', fields },
    },
  });
  expect(await act('resume-queue', fields, headers)).toMatchObject({
    status: 200,
    body: { done: 'media is resumed.' },
  });
});

it('programs are told where to look at what they did', async () => {
  const id = world.ids.withCause;

  const { body } = await act('retry-job', { connection: world.connection, id });

  expect(body).toEqual({
    done: expect.stringContaining('goes back to its queue') as unknown,
    link: `job?connection=${world.connection}&id=${id}`,
  });
});

it('a browser whose proxy adds a token is redirected to its page', async () => {
  const fields = { connection: world.connection, queue: 'media', back: 'workers' };

  const { status, headers } = await panel.post('resume-queue', fields, {
    accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
    authorization: 'Bearer token',
    'sec-fetch-site': 'same-origin',
  });

  expect([status, headers.get('location')]).toEqual([303, 'workers']);
});

it('a program must confirm what cannot be undone', async () => {
  const kept = await world.manager.failed.kept();
  const fields = { all: 'yes', queue: 'payments' };

  expect(await act('forget-failed', fields)).toMatchObject({
    status: 409,
    body: errorOf('E_DASHBOARD_CONFIRM', 'confirmed=yes'),
  });
  expect(await world.manager.failed.kept()).toBe(kept);
  expect((await act('forget-failed', { ...fields, confirmed: 'yes' })).body).toEqual({
    done: expect.stringMatching(/^\d+ failed jobs are forgotten\.$/) as unknown,
  });
  expect(await world.manager.failed.kept()).toBeLessThan(kept);
});

it('programs get a status and a code for errors', async () => {
  await using lookers = await served(world.manager, { viewer: 'viewer' });
  await using nobodys = await served(world.manager, { viewer: false });
  const fields = { connection: world.connection, queue: 'media' };
  const askedOf = async (one: Served) => {
    const { status, text } = await one.post('pause-queue', fields, ASKS_FOR_JSON);
    return { status, body: JSON.parse(text) as unknown };
  };

  expect(await act('pause-queue', { connection: world.connection })).toMatchObject({
    status: 422,
    body: errorOf('E_DASHBOARD_FIELD', "lacks the field 'queue'"),
  });
  expect(await act('pause-queue', { ...fields, connection: 'elsewhere' })).toMatchObject({
    status: 422,
    body: errorOf('E_UNKNOWN_CONNECTION', 'elsewhere'),
  });
  expect(await act('pause-queues', fields)).toMatchObject({
    status: 404,
    body: errorOf('E_DASHBOARD_ANSWER', 'There is no such action.'),
  });
  expect(await act('pause-queue', { queue: 'x'.repeat(1024 * 1024) })).toMatchObject({
    status: 413,
    body: errorOf('E_DASHBOARD_FORM_SIZE', 'more than 1048576 bytes'),
  });
  const ticked = new URLSearchParams(
    Array.from({ length: 1001 }, (): [string, string] => ['job', '["memory","mail","1"]']),
  );
  expect((await panel.post('forget-failed', ticked, ASKS_FOR_JSON)).status).toBe(413);
  expect(await askedOf(lookers)).toEqual({ status: 403, body: errorOf('E_DASHBOARD_ANSWER', 'You may look') });
  expect(await askedOf(nobodys)).toEqual({ status: 403, body: errorOf('E_DASHBOARD_ANSWER', 'may not see') });
  const { status, text } = await panel.get('failed?olderThan=soon', { accept: 'application/json' });
  expect({ status, body: JSON.parse(text) as unknown }).toEqual({
    status: 422,
    body: errorOf('E_INVALID_DURATION', 'soon'),
  });
});

it('a program also gets an error that is not one of Onqueue', async () => {
  const resume = jest.spyOn(world.manager.failed, 'flush').mockRejectedValue(new RangeError('out of range'));

  expect(await act('forget-failed', { all: 'yes', confirmed: 'yes' })).toMatchObject({
    status: 500,
    body: errorOf('E_DASHBOARD_ANSWER', 'out of range'),
  });
  resume.mockRestore();
});
