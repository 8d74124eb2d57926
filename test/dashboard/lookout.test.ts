import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Lookout } from '../../src/dashboard/readings';
import { TestClock } from '../../src/testing/test-clock';
import { eventually } from '../support/eventually';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('what is read for all viewers', () => {
  it('is shared by them for two seconds, and then read again', async () => {
    const clock = new TestClock();
    const lookout = new Lookout(clock);
    let readings = 0;
    const see = () => lookout.see('queues', async () => (readings += 1));

    expect([await see(), await see()]).toEqual([1, 1]);
    await clock.advance('2s');
    expect(await see()).toBe(2);
    lookout.forget();
    expect(await see()).toBe(3);
  });

  it('is released once it is old and something else is read, so that paging through lists fills no memory', async () => {
    const clock = new TestClock();
    const lookout = new Lookout(clock);
    const read = async (subject: string) => new WeakRef(await lookout.see(subject, async () => ({ subject })));
    const first = await read('failed 0');
    await clock.advance('2s');

    await read('failed 1000');

    await eventually(() => {
      collectGarbage();
      return first.deref() === undefined;
    });
  });
});
