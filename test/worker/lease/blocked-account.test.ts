import { blockedAccount, type BlockedFacts } from '../../../src/worker/lease/thread/blocked';
import type { HeldJob } from '../../../src/worker/supervisor/supervision';

const job = (id: string): HeldJob => ({ job: 'Resize', id, queue: 'default' });

const account = (facts: Partial<BlockedFacts>): string =>
  blockedAccount({
    pid: 7,
    blocker: job('1'),
    overdue: [job('1')],
    results: ['settled'],
    why: undefined,
    neighbours: undefined,
    frames: ['blur (/app/images.js:64:36)'],
    ...facts,
  });

describe('the report on a blocked event loop', () => {
  it('names the job, its outcome and the place in the code', () => {
    expect(account({})).toBe(
      'The event loop of process 7 stands still past timeout and grace of Resize 1: recorded as timed out. ' +
        'The worker goes on when its event loop does. Put such work into a worker thread or a process.\n' +
        '    at blur (/app/images.js:64:36)',
    );
  });

  it('names the job that blocks it if other jobs are overdue', () => {
    const others = 'stands still in Resize 1, past timeout and grace of Resize 2: ';

    expect(account({ overdue: [job('2')] })).toContain(others);
    expect(account({ overdue: [job('2')], blocker: undefined })).toContain(
      'still past timeout and grace of Resize 2: ',
    );
  });

  it('says that an outcome was not recorded if the lease was lost', () => {
    expect(account({ results: ['lost'] })).toContain('Resize 1: not recorded, because the lease was lost before. ');
  });

  it('says that outcomes were not recorded if the store did not answer', () => {
    const facts = { overdue: [job('1'), job('2'), job('3')], why: 'no route' };

    expect(account({ ...facts, results: ['settled', 'lost'] })).toContain(
      ': 1 recorded as timed out, 1 not recorded, because the lease was lost before, 1 not recorded (no route). ',
    );
    expect(account({ ...facts, results: [] })).toContain('Resize 3: not recorded (no route). ');
  });

  it('says what happened to the other jobs of a process that ends', () => {
    expect(account({ neighbours: 0 })).toContain('timed out. The process ends. Put');
    expect(account({ neighbours: 3 })).toContain('other jobs, which run again when their leases end: 3. Put');
  });

  it('names five jobs at most, counting unreadable ones', () => {
    const overdue = [{ job: 'a job', id: '', queue: 'default' }, ...['1', '2', '3', '4', '5', '6'].map(job)];

    expect(account({ blocker: undefined, overdue })).toContain(
      'grace of a job, Resize 1, Resize 2, Resize 3, Resize 4, 2 more: ',
    );
  });

  it('says that native code hides the place in the code', () => {
    expect(account({ frames: undefined })).toMatch(/It waits in native code, such as execSync\(\)\.$/);
  });
});
