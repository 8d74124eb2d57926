import { defaultManager } from '../../../src/application/default-manager';
import { Queue } from '../../../src/index';
import { HOOK_NAMES, Hooks, type AfterEvent } from '../../../src/job/hooks';

const event = { connectionName: 'memory' } as AfterEvent;
const looping = { connectionName: 'memory', queue: 'default' };

it('each hook is a method of Queue, which returns a function to remove it', async () => {
  const heard: string[] = [];
  const removals = HOOK_NAMES.map((name) => Queue[name](() => heard.push(name)));
  for (const name of HOOK_NAMES) await defaultManager().hooks.emit(name, event as never);
  for (const remove of removals) remove();
  for (const name of HOOK_NAMES) await defaultManager().hooks.emit(name, event as never);

  expect(heard).toEqual(HOOK_NAMES);
  await Queue.close();
});

it('hooks are called one after another, in the order they were added', async () => {
  const hooks = new Hooks(() => undefined);
  const calls: string[] = [];
  hooks.on('after', async () => {
    await Promise.resolve();
    calls.push('first');
  });
  hooks.on('after', () => calls.push('second'));

  await hooks.emit('after', event);

  expect(calls).toEqual(['first', 'second']);
});

it('the function returned by adding a hook removes that hook and no other', async () => {
  const hooks = new Hooks(() => undefined);
  const hook = jest.fn();
  const takeOff = hooks.on('after', hook);
  hooks.on('after', hook);

  takeOff();
  takeOff();
  await hooks.emit('after', event);

  expect(hook).toHaveBeenCalledTimes(1);
});

it('a hook that removes itself while it is called does not skip the next one', async () => {
  const hooks = new Hooks(() => undefined);
  const second = jest.fn();
  const takeOff: () => void = hooks.on('after', () => takeOff());
  hooks.on('after', second);

  await hooks.emit('after', event);

  expect(second).toHaveBeenCalledTimes(1);
});

it('a hook that throws is reported, and the other hooks are still called', async () => {
  const reported: unknown[] = [];
  const hooks = new Hooks((error, { hook }) => reported.push(hook, error));
  const second = jest.fn();
  const broken = new Error('broken');
  hooks.on('after', () => {
    throw broken;
  });
  hooks.on('after', second);

  await hooks.emit('after', event);

  expect(reported).toEqual(['after', broken]);
  expect(second).toHaveBeenCalledTimes(1);
});

it('only false is a veto in a looping hook', async () => {
  const hooks = new Hooks(() => undefined);
  const answers: unknown[] = [undefined, 0, null, false];
  hooks.on('looping', () => answers.shift());

  const allowed = [];
  for (let round = 0; round < 4; round += 1) allowed.push(await hooks.allowsReserve(looping));

  expect(allowed).toEqual([true, true, true, false]);
});

it('a looping hook that throws does not veto', async () => {
  const hooks = new Hooks(() => undefined);
  hooks.on('looping', () => {
    throw new Error('broken');
  });

  expect(await hooks.allowsReserve(looping)).toBe(true);
});

it('adopted hooks are called as well, and their errors are reported by the adopter', async () => {
  const reported: unknown[] = [];
  const broken = new Error('broken');
  const hooks = new Hooks((error) => reported.push(error));
  const other = new Hooks(() => reported.push('by the other'));
  const calls: string[] = [];
  hooks.on('after', () => calls.push('own'));
  other.on('after', () => calls.push('adopted'));
  other.on('after', () => {
    throw broken;
  });
  other.on('looping', () => false);

  hooks.adopt(other);
  other.on('after', () => calls.push('too late'));
  await hooks.emit('after', event);

  expect(calls).toEqual(['own', 'adopted']);
  expect(reported).toEqual([broken]);
  expect(await hooks.allowsReserve(looping)).toBe(false);
});

it.each([
  [undefined, 'nothing'],
  [null, 'null'],
  [5, 'a number'],
])('a hook that is not a function, such as %p, is refused when it is added', (hook, given) => {
  const hooks = new Hooks(() => undefined);

  expect(() => hooks.on('before', hook as never)).toThrow(
    expect.objectContaining({
      code: 'E_INVALID_HOOK',
      message: `Queue.before() was given ${given} instead of a function. Write Queue.before((…) => { … }).`,
    }),
  );
  expect(hooks.hears.before).toBe(false);
});
