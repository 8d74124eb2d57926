import { QueueUnavailableError } from '../../src/connections/errors';
import { withoutOverlapping } from '../../src/limits/without-overlapping';
import { Gate, until } from '../support/application';
import { application, calls, setTheScene } from '../worker/executor-scene';
import { Hangs, Pay, Refund, run, scene, waitOf } from './scene';

setTheScene();

const locks = () => application.manager.driver('memory').locks!;

beforeEach(() => (scene.layers = () => [withoutOverlapping('card 7')]));

/** Starts a job that runs until the gate is opened. */
async function running(job: object = new Pay()): Promise<{ readonly gate: Gate; readonly ended: Promise<unknown> }> {
  const gate = new Gate();
  const { length } = calls;
  scene.behave = () => gate.opened;
  const ended = run(job);
  await until(application.clock, () => calls.length > length);
  scene.behave = () => undefined;
  return { gate, ended };
}

describe('withoutOverlapping', () => {
  it('puts a job off at no cost while another one of its class has its key, and lets it run after that', async () => {
    const { gate, ended } = await running();
    expect(await waitOf()).toBe(5);
    gate.open();
    await ended;
    expect(await waitOf()).toBe(0);
    expect(calls).toEqual(['Pay', 'Pay']);
  });

  it('waits as long as it was told, or skips the job', async () => {
    const { gate, ended } = await running();
    scene.layers = () => [withoutOverlapping('card 7', { wait: '90s' })];
    expect(await waitOf()).toBe(90);
    scene.layers = () => [withoutOverlapping('card 7', { skip: true })];
    expect((await run()).settlement.outcome).toBe('completed');
    expect(calls).toEqual(['Pay']);
    gate.open();
    await ended;
  });

  it('keeps the classes apart, unless they share the key', async () => {
    const { gate, ended } = await running();
    expect(await waitOf(new Refund())).toBe(0);
    gate.open();
    await ended;
    scene.layers = () => [withoutOverlapping('card 7', { shared: true })];
    const second = await running();
    expect(await waitOf(new Refund())).toBe(5);
    second.gate.open();
    await second.ended;
  });

  it('lets jobs of other keys run', async () => {
    const { gate, ended } = await running();
    scene.layers = () => [withoutOverlapping('card 8')];
    expect(await waitOf()).toBe(0);
    gate.open();
    await ended;
  });

  it('frees the key if the job throws', async () => {
    scene.behave = () => {
      throw new Error('no');
    };
    expect((await run()).error).toMatchObject({ message: 'no' });
    scene.behave = () => undefined;
    expect(await waitOf()).toBe(0);
  });

  it('holds the key for as long as the job runs', async () => {
    const { gate, ended } = await running();
    for (let minute = 0; minute < 10; minute += 1) {
      await application.clock.advance('1m');
      expect(await waitOf()).toBe(5);
    }
    gate.open();
    await ended;
    const renew = jest.spyOn(locks(), 'renew');
    await application.clock.advance('1m');
    expect(renew).not.toHaveBeenCalled();
  });

  it('frees the key of a process that has died after a minute', async () => {
    const { gate, ended } = await running();
    const renew = jest.spyOn(locks(), 'renew').mockReturnValue(new Promise(() => undefined));
    await application.clock.advance('50s');
    expect(await waitOf()).toBe(5);
    await application.clock.advance('10s');
    expect(await waitOf()).toBe(0);
    renew.mockRestore();
    gate.open();
    await ended;
  });

  it('frees the key a minute after a run that was given up, whose handler hangs', async () => {
    const gate = new Gate();
    scene.behave = () => gate.opened;
    const hanging = run(new Hangs());
    await until(application.clock, () => calls.length === 1);
    for (let second = 0; second < 40; second += 5) await application.clock.advance('5s');
    expect((await hanging).settlement).toMatchObject({ outcome: 'released' });
    expect(await waitOf(new Hangs())).toBe(5);
    await application.clock.advance('1m');
    scene.behave = () => undefined;
    expect(await waitOf(new Hangs())).toBe(0);
    gate.open();
  });

  it('takes an expired lock again, and says so if another job has taken it', async () => {
    const { gate, ended } = await running();
    const renew = jest.spyOn(locks(), 'renew').mockResolvedValue(false);
    await application.clock.advance('60s');
    expect(application.log.messages('warn')).toEqual([]);
    jest.spyOn(locks(), 'acquire').mockResolvedValue(false);
    await application.clock.advance('20s');
    expect(application.log.messages('warn')).toEqual([
      expect.stringMatching(/^Pay the-id runs for longer than it could hold/),
    ]);
    renew.mockRestore();
    gate.open();
    await ended;
  });

  it('puts the job off while the store is away, and completes one whose lock it could not free', async () => {
    const reported: unknown[] = [];
    application.manager.onError((error) => reported.push(error));
    const facts = { connection: 'memory', store: 'Memory', address: 'here', consequence: 'no lock' };
    const away = new QueueUnavailableError(facts);
    const acquire = jest.spyOn(locks(), 'acquire').mockRejectedValue(away);
    expect(await waitOf()).toBe(5);
    acquire.mockRestore();
    jest.spyOn(locks(), 'release').mockRejectedValue(away);
    expect(await waitOf()).toBe(0);
    expect(reported).toEqual([away, away]);
  });

  it('names the job if its connection keeps no locks, and does not run it', async () => {
    jest.replaceProperty(application.manager.driver('memory'), 'locks', undefined);
    await expect(waitOf()).rejects.toMatchObject({
      code: 'E_CAPABILITY',
      message: expect.stringContaining("Connection 'memory' cannot hold locks, which Pay needs: the driver 'memory'"),
      facts: expect.objectContaining({ connection: 'memory', capability: 'locks', job: 'Pay' }),
    });
    expect(calls).toEqual([]);
  });

  it.each<[string, () => unknown, string]>([
    ['no key', () => withoutOverlapping(undefined as never), 'undefined is not valid. Its key is a number'],
    ['an object as its key', () => withoutOverlapping({} as never), '{} is not valid. Its key is a number'],
    [
      'a time in place of the options',
      () => withoutOverlapping('a', '5s' as never),
      "'5s' is not valid. Give { wait: '5s' }",
    ],
    ['wait and skip', () => withoutOverlapping('a', { wait: '5s', skip: true } as never), 'Give { wait:'],
    ['a text for skip', () => withoutOverlapping('a', { skip: 'yes' } as never), 'or { skip: true }'],
    [
      'an option that it does not know',
      () => withoutOverlapping('a', { expireAfter: 60 } as never),
      'is not valid. Give { wait:',
    ],
    ['no wait at all', () => withoutOverlapping('a', { wait: 0 }), '0 is not valid. wait is a time above 0'],
  ])('refuses %s when it is called', (_what, call, message) => {
    expect(call).toThrow(
      expect.objectContaining({ code: 'E_INVALID_MIDDLEWARE_ARGUMENT', message: expect.stringContaining(message) }),
    );
  });
});
