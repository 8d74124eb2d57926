/** What is remembered of those who come has an end. */
import { Sessions } from '../../../src/dashboard/access/sessions';
import { WrongTries } from '../../../src/dashboard/access/wrong-tries';
import { TestClock } from '../../../src/testing/test-clock';

describe('of sessions', () => {
  it('at most a thousand are kept: the one that was longest idle ends', () => {
    const sessions = new Sessions(new TestClock());
    const [first, second] = [sessions.open('operator'), sessions.open('operator')];
    const found = sessions.find(second);
    sessions.find(first);
    for (let count = 0; count < 999; count += 1) sessions.open('viewer');
    expect([sessions.find(first)?.hasEnded, sessions.find(second), found?.hasEnded]).toEqual([false, undefined, true]);
  });

  it('none is kept that is over, once another one begins', async () => {
    const clock = new TestClock();
    const sessions = new Sessions(clock);
    const old = sessions.find(sessions.open('operator'));
    await clock.advance('13h');
    sessions.open('viewer');
    expect(old?.hasEnded).toBe(true);
  });
});

describe('of wrong tries', () => {
  it('a thousand addresses are remembered, and no further one may try until the first is forgotten', async () => {
    const clock = new TestClock();
    const tries = new WrongTries(clock);
    for (let count = 0; count < 1000; count += 1) tries.add(`2001:db8::${count}`);
    expect([tries.pauseOf('2001:db8::1000'), tries.pauseOf('2001:db8::7')]).toEqual([60, 0]);
    await clock.advance('59500ms');
    expect(tries.pauseOf('2001:db8::1000')).toBe(1);
    await clock.advance('500ms');
    expect(tries.pauseOf('2001:db8::1000')).toBe(0);
  });

  it('each address has five, and its minute begins with the last one', async () => {
    const clock = new TestClock();
    const tries = new WrongTries(clock);
    for (let count = 0; count < 4; count += 1) tries.add('192.0.2.1');
    await clock.advance('50s');
    expect(tries.pauseOf('192.0.2.1')).toBe(0);
    tries.add('192.0.2.1');
    expect([tries.pauseOf('192.0.2.1'), tries.pauseOf('192.0.2.2')]).toEqual([60, 0]);
  });
});
