/** Sessions and wrong attempts take a bounded amount of memory. */
import { Sessions, WrongTries } from '../../../src/dashboard/access/sessions';
import { TestClock } from '../../../src/testing/test-clock';

describe('sessions', () => {
  it('are kept up to a thousand, and then the one idle for longest ends', () => {
    const sessions = new Sessions(new TestClock());
    const [first, second] = [sessions.open('operator'), sessions.open('operator')];
    sessions.find(first);
    for (let count = 0; count < 999; count += 1) sessions.open('viewer');
    expect([sessions.find(first), sessions.find(second)]).toEqual(['operator', undefined]);
  });

  it('end after twelve hours without a request', async () => {
    const clock = new TestClock();
    const sessions = new Sessions(clock);
    const [used, left] = [sessions.open('operator'), sessions.open('viewer')];
    await clock.advance('7h');
    sessions.find(used);
    await clock.advance('7h');
    expect([sessions.find(used), sessions.find(left)]).toEqual(['operator', undefined]);
  });

  it('end after twelve hours even if a page stays open, which looks whether they have ended', async () => {
    const clock = new TestClock();
    const sessions = new Sessions(clock);
    const id = sessions.open('viewer');
    await clock.advance('7h');
    expect(sessions.find(id, false)).toBe('viewer');
    await clock.advance('7h');
    expect(sessions.find(id, false)).toBeUndefined();
  });
});

describe('wrong attempts', () => {
  it('are remembered for a thousand addresses, and others may not try until one of those is forgotten', async () => {
    const clock = new TestClock();
    const tries = new WrongTries(clock);
    for (let count = 0; count < 1000; count += 1) tries.add(`2001:db8::${count}`);
    expect([tries.pauseOf('2001:db8::1000'), tries.pauseOf('2001:db8::7')]).toEqual([60, 0]);
    await clock.advance('59500ms');
    expect(tries.pauseOf('2001:db8::1000')).toBe(1);
    await clock.advance('500ms');
    expect(tries.pauseOf('2001:db8::1000')).toBe(0);
  });

  it('are limited to five for each address, whose minute begins with the last one', async () => {
    const clock = new TestClock();
    const tries = new WrongTries(clock);
    for (let count = 0; count < 4; count += 1) tries.add('192.0.2.1');
    await clock.advance('50s');
    expect(tries.pauseOf('192.0.2.1')).toBe(0);
    tries.add('192.0.2.1');
    expect([tries.pauseOf('192.0.2.1'), tries.pauseOf('192.0.2.2')]).toEqual([60, 0]);
  });
});
