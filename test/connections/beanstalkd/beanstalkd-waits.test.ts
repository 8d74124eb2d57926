import type { BeanstalkdConnection } from '../../../src/connections/beanstalkd/connection';
import { noCounters } from '../../../src/payload/counters';
import { eventually } from '../../support/eventually';
import { meantToPass } from '../../support/meant-to-pass';
import { BeanstalkdWorld, callsOf, completed, probe } from './open-beanstalkd';
import { settleIn, waitOn } from '../../support/exchange';

let world: BeanstalkdWorld;
let connection: BeanstalkdConnection;

beforeEach(async () => {
  world = await BeanstalkdWorld.start();
  connection = world.connect();
});

afterEach(() => world.stop());

const { push, reserve, reserveOne, ids } = callsOf(() => connection);

describe('a wait', () => {
  const wait = (signal = new AbortController().signal) => waitOn(connection, ['default'], 60, signal);

  it('brings the job that ended it, reserved once', async () => {
    const waiting = wait();
    await push('a');
    await waiting;

    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 1 });
    expect((await reserveOne()).counters).toEqual({ ...noCounters, attempts: 1 });
  });

  it('that was aborted gives the job back without costing a try', async () => {
    const abort = new AbortController();
    const waiting = wait(abort.signal);
    await eventually(async () => (await world.server.say('stats')).includes('current-waiting: 1'));
    abort.abort();
    await waiting;
    await push('a');

    await eventually(async () => (await connection.queues.counts('default')).ready === 1);
    const reservation = await eventually(async () => (await reserve()).reservations[0]);
    expect(reservation!.counters).toEqual({ ...noCounters, attempts: 1, releases: 1 });
  });

  it('hands out nothing if the lease of the job that it brought has ended', async () => {
    const other = world.connect();
    const waiting = wait();
    await push('a');
    await waiting;
    await world.server.advance(61);

    expect((await reserveOne(other)).counters).toEqual({ ...noCounters, attempts: 1, crashes: 1 });
    world.clock.advance(61);
    expect((await reserve()).reservations).toEqual([]);
  });

  it('gives a job that nobody reserves back without costing a try', async () => {
    const other = world.connect({}, { retryAfter: meantToPass(1) });
    const waiting = wait();
    await other.push('default', [{ payload: probe('a') }]);
    await waiting;

    await eventually(async () => (await connection.queues.counts('default')).ready === 1);
    expect((await reserveOne()).counters).toEqual({ ...noCounters, attempts: 1, releases: 1 });
  });

  it('has a connection of its own while others hold jobs', async () => {
    await push('held');
    const held = await reserveOne();
    const waiting = wait();
    await push('a');
    await waiting;
    const second = await reserveOne();
    const waitingAgain = wait();
    await eventually(async () => (await world.server.say('stats')).includes('current-waiting: 1'));

    expect(await connection.renew([held, second], 60)).toEqual(['renewed', 'renewed']);
    expect(await settleIn(connection, [completed(held), completed(second)])).toEqual(['settled', 'settled']);
    await push('b');
    await waitingAgain;
    expect(await ids()).toEqual(['b']);
  });

  it('leaves a job that another wait has brought a connection on which it can be settled', async () => {
    await reserve();
    const bringing = wait();
    await push('a');
    await bringing;
    void waitOn(connection, ['other'], 60, new AbortController().signal);
    await eventually(async () => (await world.server.say('stats')).includes('current-waiting: 1'));

    expect(await settleIn(connection, [completed(await reserveOne())])).toEqual(['settled']);
    expect(await world.server.say('stats')).toContain('current-waiting: 1');
  });

  it('leaves no waiting client on the server when its connection is closed', async () => {
    const other = world.connect();
    const waiting = waitOn(other, ['default'], 60);
    await eventually(async () => (await world.server.say('stats')).includes('current-waiting: 1'));
    await other.close();
    await waiting;

    expect(await world.server.say('stats')).toContain('current-waiting: 0');
  });
});

it('closing a connection gives back a job that a wait brought and nobody reserved', async () => {
  const other = world.connect();
  const waiting = waitOn(other, ['default'], 60, new AbortController().signal);
  await push('a');
  await waiting;
  await other.close();

  await eventually(async () => (await connection.queues.counts('default')).ready === 1);
  expect((await reserveOne()).counters).toEqual({ ...noCounters, attempts: 1, releases: 1 });
});
