/** The error that a job died of reaches everybody who asks, whatever ended its tries. */
import { Job } from '../../src/job/job';
import type { FailedJob } from '../../src/application/failed/failed-filter';
import { maxAttemptsExceeded } from '../../src/worker/errors';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse } from '../support/application';
import { JobHistories } from '../../src/operations/history/job-histories';
import { application, ran, setTheScene } from './scene';

// The clock of the test would not wait for source files to be read, and the records would be left out.
setTheScene({ history: { sourceLines: false } });

let behave: (job: Sync) => void;

beforeEach(() => {
  behave = () => {
    throw new Error('connect ECONNREFUSED 10.0.0.7:443');
  };
});

@Job()
class Sync extends Job {
  handle(): void {
    ran.push('handle');
    behave(this);
  }
  failed(error: Error): void {
    ran.push(`failed: ${told(error)}`);
  }
}

@Job({ retryUntil: '2s', backoff: '4s' })
class Brief extends Sync {}

@Job({ retryUntil: '2s', backoff: '1s' })
class BriefRetries extends Sync {}

@Job({ retryUntil: '2s' })
class BriefByDate extends Sync {
  backoff(): Date {
    return new Date(application.clock.now() + 3000);
  }
}

@Job()
class Alert extends Job {
  handle(): void {
    ran.push(`caught: ${this.job.cause!.message}`);
  }
}

const told = ({ message, cause }: Error): string =>
  cause instanceof Error ? `${message} | cause: ${cause.name}: ${cause.message}` : message;

async function work(options: WorkerOptions = {}): Promise<void> {
  const ended = new Worker({ stopWhenEmpty: true, ...options }, application.manager).run();
  await elapse(application.clock, 3);
  await ended;
}

async function onlyFailure(): Promise<FailedJob> {
  const [failure, ...others] = await application.manager.failed.list();
  expect(others).toEqual([]);
  return failure!;
}

it.each([Brief, BriefByDate])(
  'a job whose next attempt would start too late fails now, with its own error (%p)',
  async (Class) => {
    await application.bus.dispatch(new Class());
    await work();

    expect(ran).toEqual(['handle', 'failed: connect ECONNREFUSED 10.0.0.7:443']);
    expect((await onlyFailure()).exception).toMatch(/^Error: connect ECONNREFUSED/);
  },
);

it('a job whose next attempt is in time is tried again', async () => {
  await application.bus.dispatch(new BriefRetries());
  await work({ drain: true });

  expect(ran.slice(0, 2)).toEqual(['handle', 'handle']);
});

it('a release in the last try fails at once, with what it threw besides as the cause', async () => {
  behave = (job) => {
    job.release('1m');
    throw new TypeError('the api is away');
  };
  await application.bus.dispatch(new Sync());
  await work();

  expect(ran).toEqual([
    'handle',
    expect.stringMatching(/^failed: .*used up its tries \(1\).*\| cause: TypeError: the api is away$/),
  ]);
  expect((await onlyFailure()).exception).toContain('Caused by: TypeError: the api is away');
});

it('a release in the last try fails with the error of the try before as the cause', async () => {
  await application.bus.dispatch(new Sync());
  await work({ tries: 2, backoff: '10s' });
  await elapse(application.clock, 10);
  behave = (job) => job.release('1m');
  await work({ tries: 2 });

  expect(ran.at(-1)).toMatch(/^failed: .*used up its tries \(2\).*\| cause: Error: connect ECONNREFUSED/);
  expect((await onlyFailure()).exception).toContain('Caused by: Error: connect ECONNREFUSED');
});

it.each([
  ['frozen', Object.freeze],
  ['open', (error: Error): Error => error],
])("another job's used-up tries, thrown on in the last try, stay as they are (%s)", async (_what, given) => {
  const other = maxAttemptsExceeded('Other', '7', 2, { tries: 1, retryUntil: undefined });
  await application.bus.dispatch(new Sync());
  await work({ tries: 2, backoff: '10s' });
  await elapse(application.clock, 10);
  behave = () => {
    throw given(other);
  };
  await work({ tries: 2 });

  expect(ran.at(-1)).toBe(`failed: ${other.message}`);
  expect((await onlyFailure()).exception).not.toContain('Caused by');
});

it('a release or deferral beyond retryUntil fails at once', async () => {
  behave = (job) => job.job.defer('1m');
  await application.bus.dispatch(new Brief());
  await work();

  expect(ran).toEqual([
    'handle',
    expect.stringMatching(/^failed: .*could be tried until .*: attempt 1 would start too late\.$/),
  ]);
});

describe('a job whose tries were lowered after its last attempt', () => {
  class ServerAway extends Error {}

  beforeEach(async () => {
    behave = () => {
      throw new ServerAway('connect ECONNREFUSED: 10.0.0.7:443');
    };
    await application.bus.chain([new Sync()]).catch(new Alert()).dispatch();
    await work({ tries: 5, backoff: '10s' });
    await elapse(application.clock, 10);
  });

  it('fails with its last error as the cause, in the record, for failed(), catch() and filters', async () => {
    await work({ tries: 1 });

    const cause = 'connect ECONNREFUSED: 10.0.0.7:443';
    expect(ran).toEqual([
      'handle',
      expect.stringMatching(new RegExp(`^failed: .*used up its tries \\(1\\).*cause: ServerAway: ${cause}$`)),
      expect.stringMatching(new RegExp(`^caught: .*used up its tries \\(1\\).* Cause: ${cause}$`)),
    ]);
    expect((await onlyFailure()).exception).toMatch(new RegExp(`Caused by: ServerAway: ${cause}\\n +at .*last-error`));
    expect(await application.manager.failed.retry({ error: 'ECONNREFUSED' })).toBe(1);
  });

  it('fails all the same if nothing tells of the error', async () => {
    jest.spyOn(JobHistories, 'lastErrorOf').mockResolvedValue(undefined);
    await work({ tries: 1 });

    expect((await onlyFailure()).exception).not.toContain('Caused by');
  });
});
