import { Job, Queue } from 'onqueue';
import type { FakeQueue } from 'onqueue/testing';
import { defaultManager } from '../../src/application/default-manager';
import { MakeInvoice, MakeReport, SendReport, SendWelcome } from './jobs';

@Job({ queue: 'mail' })
class SendLetter extends SendWelcome {}

let queue: FakeQueue | undefined;

/** What the program's real store holds. */
const real = () => Promise.all(['default', 'mail', 'reports'].map((name) => Queue.size(name)));

beforeEach(() => Queue.configure({ connections: { main: { driver: 'memory' } } }));

afterEach(async () => {
  queue?.restore();
  queue = undefined;
  await Queue.close();
});

describe('a partial fake', () => {
  it('fakes only the given classes and their subclasses, and sends all others to their real connections', async () => {
    queue = Queue.fake({ only: [SendWelcome, MakeReport] });

    await SendWelcome.dispatch('ada@example.com');
    await SendLetter.dispatch('grace@example.com').delay('1h');
    await SendReport.dispatch('sales').delay('1h');
    await Queue.bulk([new MakeReport(), new SendReport('costs')]);
    await Queue.push('Legacy@run');

    expect(queue.pushes.map(({ name }) => name)).toEqual(['SendWelcome', 'SendLetter', 'MakeReport']);
    queue.assertPushed(SendWelcome, 1);
    queue.assertNotPushed(SendReport);
    queue.restore();
    expect(await real()).toEqual([1, 0, 2]);
  });

  it('sends the excepted classes to their real connections, and fakes all others', async () => {
    queue = Queue.fake({ except: [SendWelcome] });

    await SendLetter.dispatch('grace@example.com');
    await MakeReport.dispatch();
    await Queue.pushRaw('no payload at all');
    await Queue.push('Legacy@run');

    expect(queue.pushes.map(({ name }) => name)).toEqual(['MakeReport', '', 'Legacy']);
    queue.assertNotPushed(SendLetter);
    queue.restore();
    expect(await real()).toEqual([0, 1, 0]);
  });

  it('sends what its jobs dispatch to where it belongs', async () => {
    queue = Queue.fake({ only: [MakeReport] });
    await MakeReport.dispatch('costs');

    expect((await queue.drain()).completed).toMatchObject([{ name: 'MakeReport' }]);

    queue.restore();
    expect(await real()).toEqual([0, 0, 1]);
  });

  it('returns what the real connection did with the jobs of one call that are not faked', async () => {
    queue = Queue.fake({ only: [MakeReport] });

    const [first, report, second] = await Queue.bulk([new MakeInvoice(7), new MakeReport(), new MakeInvoice(7)]);

    expect(second).toBe(first);
    expect(queue.pushes.map(({ id }) => id)).toEqual([report]);
  });

  it('passes a configuration given during the fake to the program', async () => {
    await Queue.close();
    queue = Queue.fake({ except: [SendReport] });
    Queue.configure({ connections: { late: { driver: 'memory' } } });

    await SendReport.dispatch('sales');

    queue.restore();
    expect(defaultManager().connectionNames()).toEqual(['late']);
    expect(await Queue.size('reports')).toBe(1);
  });

  it('refuses a class that is not a job, which it would never meet', () => {
    class NoJob {}

    expect(() => Queue.fake({ only: [NoJob] })).toThrow('NoJob');
    queue = Queue.fake();
    expect(queue.pushes).toEqual([]);
  });
});
