/** A `Bus.bulk` that is interrupted: jobs already queued must not be sent again. */
import { endOfTurn } from '../../src/base/clock';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import type { BulkInterruptedError } from '../../src/dispatch/errors';
import { eventually } from '../support/eventually';
import { watchedApplication } from '../support/watched-application';

const ran: string[] = [];

@Job()
class Letter extends Job {
  constructor(readonly to: string) {
    super();
  }

  handle(): void {
    ran.push(this.to);
    if (this.to === 'nobody') throw new Error('No such address.');
  }
}

@Job()
class Parcel extends Job {
  constructor(readonly to: string) {
    super();
  }

  queue(): string | undefined {
    if (this.to === 'nobody') throw new Error('No such address.');
    return this.to === 'unnamed' ? undefined : this.to;
  }
}

function given() {
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, sync: { driver: 'sync' } },
  });
  return { ...app, bus: new JobBus(() => app.manager) };
}

async function interruption(bulk: Promise<unknown>): Promise<BulkInterruptedError> {
  const error = (await bulk.catch((reason: unknown) => reason)) as BulkInterruptedError;
  expect(error).toMatchObject({ code: 'E_BULK_INTERRUPTED', cause: { message: 'No such address.' } });
  return error;
}

beforeEach(() => (ran.length = 0));

describe('an interrupted bulk', () => {
  it("reports the queued ids and the places of the unsent jobs if a job's queue() throws", async () => {
    const { bus, watched } = given();
    const jobs = ['x', 'unnamed', 'nobody', 'y'].map((to) => new Parcel(to));

    const { facts, message } = await interruption(bus.bulk([...jobs, new Letter('a'), new Letter('b')]));

    const [a, b] = await watched().payloads('default');
    expect(facts).toEqual({ ids: ['x', a?.['id'], b?.['id']], unsent: [2, 3], total: 6, queue: 'default' });
    expect(message).toMatch(
      /^4 of 6 jobs went in; then the queue\(\) of Parcel failed: No such address\. Send only those/,
    );
  });

  it('counts a job that ran on sync and failed as sent, so that it does not run twice', async () => {
    const { bus, manager } = given();
    const jobs = ['a', 'b', 'nobody', 'd'].map((to) => new Letter(to));

    const errors = [
      await interruption(bus.bulk(jobs.map((job) => job.onConnection('sync')))),
      await interruption(manager.connection('sync').bulk(jobs)),
    ];

    expect(ran).toEqual(['a', 'b', 'nobody', 'a', 'b', 'nobody']);
    for (const { facts, message } of errors) {
      expect(facts).toMatchObject({ unsent: [3], total: 4 });
      expect(facts.ids).toHaveLength(3);
      expect(message).toMatch(/^3 of 4 jobs went in; then Letter ran and failed: /);
    }
  });

  it('says to send none again if the last job on sync failed', async () => {
    const { manager } = given();

    const { message } = await interruption(manager.connection('sync').bulk([new Letter('a'), new Letter('nobody')]));

    expect(message).toMatch(/^2 of 2 jobs went in; then Letter ran and failed: .* Send none of them again\.$/);
  });

  it('sends nothing if a job with its own queue() names an unknown connection', async () => {
    const { bus, watched } = given();

    await expect(bus.bulk([new Letter('a'), new Parcel('x').onConnection('nowhere')])).rejects.toMatchObject({
      code: 'E_UNKNOWN_CONNECTION',
    });
    expect(watched().pushes).toEqual([]);
  });
});

describe('a bulk of several pages', () => {
  it('sends as many pages at once as the store accepts in order, and no more', async () => {
    const { bus, watched } = given();
    let begun = 0;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    Object.assign(watched(), { atOnce: { pushes: 3 } }).beforePush = () => {
      begun += 1;
      return released;
    };

    const bulk = bus.bulk(letters(450));
    await eventually(() => begun === 3);
    for (let turn = 0; turn < 10; turn += 1) await endOfTurn();
    expect(begun).toBe(3);
    release();

    const ids = await bulk;
    expect((await watched().payloads('default')).map(({ id }) => id)).toEqual(ids);
    expect(watched().pushes.map(({ entries }) => entries.length)).toEqual([100, 100, 100, 100, 50]);
  });

  it('reports which pages after a refused one were queued', async () => {
    const { bus, watched } = given();
    let begun = 0;
    let refuse = (_error: Error): void => undefined;
    const refused = new Promise<void>((_resolve, reject) => (refuse = reject));
    Object.assign(watched(), { atOnce: { pushes: 3 } }).beforePush = () => {
      begun += 1;
      if (begun === 4) refuse(new Error('No such address.'));
      return begun === 2 ? refused : undefined;
    };

    const { facts } = await interruption(bus.bulk(letters(500)));

    expect(facts.unsent).toEqual([...places(100, 200), ...places(400, 500)]);
    expect(facts.ids).toEqual((await watched().payloads('default')).map(({ id }) => id));
  });
});

const letters = (count: number): Letter[] => places(0, count).map((place) => new Letter(String(place)));

const places = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);
