import { uuidAt } from '../../src/payload/uuid';
import { COMPLETED, HISTORY } from '../../src/operations/history/attempt';
import {
  bucketOf,
  classesName,
  classKey,
  classText,
  DAY,
  figureName,
  LONGEST,
  RESOLUTIONS,
  RUN_TIMES,
  spanAt,
} from '../../src/operations/figures/job-counters';
import { served, type Served } from './kit/served';
import { openWorld, type World } from './kit/world';

let world: World;
let panel: Served;

beforeAll(async () => {
  world = await openWorld();
  panel = await served(world.manager);
});

afterAll(async () => {
  await panel[Symbol.asyncDispose]();
  await world.close();
});

const recordsOf = ({ manager }: World) => manager.driver().records!;

describe('the page of a job class', () => {
  it('says how many of its jobs ran and failed, why, when it ran last, and how it is run', async () => {
    const { status, text } = await panel.get('job-class?name=SendInvoice');

    expect(status).toBe(200);
    expect(text).toMatch(/<h1>SendInvoice<\/h1>/);
    expect(text).toMatch(/<dt>p95<\/dt><dd>[\d.]+ (ms|s)<\/dd>/);
    for (const chart of ['rate-completed', 'rate-failed', 'run-chart', 'wait-chart'])
      expect(text).toContain(`id="${chart}"`);
    expect(text).toMatch(/Failures by error.*MailRefused: 550/s);
    expect(text).toMatch(/Last runs.*<span class="badge bad">failed<\/span> <span class="soft">attempt 3/s);
    expect(text).toMatch(/<dt>Tries<\/dt><dd>3 <span class="soft">its class/);
    expect(text).toMatch(/<dt>Queue<\/dt><dd><code><bdi>mail</);
    expect(text).not.toContain('SyncCustomer');
  });

  it('is reached from wherever a class is named', async () => {
    const at = 'href="job-class?name=SendInvoice';
    for (const page of [
      '',
      'job-classes',
      'queue?queue=mail',
      'failed',
      `job?id=${world.ids.refused}`,
      'search?text=SendInvo',
    ])
      expect((await panel.get(page)).text).toContain(at);
    expect((await panel.get('schedules')).text).toContain('href="job-class?name=NightlyReport"');
  });

  it('names the schedules that send it', async () => {
    const { text } = await panel.get('job-class?name=SweepCarts');
    expect(text).toMatch(/>Schedules<\/a><\/h2>.*<bdi>sweep-carts<\/bdi>/s);
  });

  it('says how much longer its jobs take than on the day before', async () => {
    const of = { connection: world.connection, queue: 'media', job: 'ResizeImage' };
    const [, , eighths] = RESOLUTIONS;
    const at = world.manager.clock.now() - 20 * 3_600_000;
    const quick = {
      c: 100_000,
      [RUN_TIMES.field]: 1_000_000_000,
      [RUN_TIMES.buckets[bucketOf(RUN_TIMES, 10)]!]: 100_000,
    };
    await recordsOf(world).add(
      [
        { name: figureName(eighths, spanAt(at, eighths.step), classKey(of)), amounts: quick, keep: eighths.keep },
        { name: classesName(spanAt(at, DAY)), amounts: { [classText(of)]: 1 }, keep: LONGEST },
      ],
      'yesterday',
      1,
    );

    const { text: page } = await panel.get('job-class?name=ResizeImage');

    expect(page).toMatch(/<p class="finding warn">p95 is [\d,.]+ × that of the day before: /);
    expect((await panel.get('job-class?name=ResizeImage&within=7d')).text).not.toContain('of the day before');
  });

  it.each([
    ['job-class', 422, 'lacks a valid &#39;name&#39;'],
    ['job-class?name=NoSuchClass', 404, 'No class <bdi>NoSuchClass</bdi> is declared here'],
    ['job-class?name=SendInvoice&connection=moon', 422, 'E_UNKNOWN_CONNECTION'],
    ['job-class?name=SendInvoice&within=9y', 422, 'lacks a valid &#39;within&#39;'],
    ['job-class?name=SendInvoice&from=2027-01-02&to=2027-01-01', 422, 'lacks a valid &#39;to&#39;'],
    ['job-class?name=SendInvoice&from=soon&to=2027-01-01', 422, 'lacks a valid &#39;from&#39;'],
    ['job-class?name=SendInvoice&from=2020-01-01&to=2020-01-02', 422, 'figures are kept for 30 days'],
    ['runs?outcome=excellent', 422, 'lacks a valid &#39;outcome&#39;'],
    ['runs?slower=very', 422, 'E_INVALID_DURATION'],
    ['runs?connection=moon', 422, 'lacks a valid &#39;connection&#39;'],
    ['runs?from=yesterday', 422, 'lacks a valid &#39;from&#39;'],
    ['runs?after=[-1]', 422, 'lacks a valid &#39;after&#39;'],
    ['runs?after=there', 422, 'lacks a valid &#39;after&#39;'],
  ])('answers %s with %d and says why', async (page, status, why) => {
    const shown = await panel.get(page);
    expect(shown.status).toBe(status);
    expect(shown.text).toContain(why);
  });
});

describe('the list of runs', () => {
  const outcomes = (text: string) =>
    [...text.matchAll(/<td[^>]*><span class="badge \w+">([\w ]+)<\/span>/g)].map(([, one]) => one);

  it('says what ran, newest first, whether it completed or failed', async () => {
    const { text } = await panel.get('runs');

    expect(new Set(outcomes(text))).toEqual(new Set(['completed', 'failed', 'timed out', 'crashed']));
    const ended = [...text.matchAll(/<td data-label="Ended"><time datetime="([^"]+)"/g)].map(([, at]) => at!);
    expect(ended.length).toBeGreaterThanOrEqual(50);
    expect(ended).toEqual(ended.toSorted().toReversed());
    expect(text).toContain(`id=${world.ids.completed}`);
  });

  it.each([
    ['name=NightlyReport&outcome=completed', ['completed']],
    ['outcome=timed-out', ['timed out']],
    ['name=NightlyReport&slower=1h', []],
    ['worker=nobody', []],
    ['to=2000-01-01', []],
    ['queue=imports&outcome=crashed', ['crashed']],
  ])('can be limited to %s', async (chosen, expected) => {
    expect(outcomes((await panel.get(`runs?${chosen}`)).text)).toEqual(expected);
  });

  it('goes on page by page, and shows each run once', async () => {
    const seen: string[] = [];
    let next: string | undefined = 'runs';
    for (let pages = 0; next !== undefined && pages < 20; pages += 1) {
      const { text }: { text: string } = await panel.get(next);
      seen.push(...[...text.matchAll(/<tr data-key="(\S+ \S+ \d+)"/g)].map(([, key]) => key!));
      next = /<a href="([^"]*)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }

    expect(next).toBeUndefined();
    expect(new Set(seen).size).toBe(seen.length);
    const kept = await Promise.all([COMPLETED, HISTORY].map((kind) => recordsOf(world).list(kind, { limit: 1000 })));
    const runs = kept.flat().flatMap(({ value }) => (JSON.parse(value) as { attempts: unknown[] }).attempts);
    expect(seen).toHaveLength(runs.length);
  });

  it('leaves out what another program has written there', async () => {
    const values = [
      'not JSON',
      '{"attempts":[null,{"at":"soon"}]}',
      '{"name":1,"attempts":[{"at":1}]}',
      '{"attempts":{}}',
    ];
    await recordsOf(world).put(
      values.map((value, place) => ({ kind: COMPLETED, id: uuidAt(`strange ${place}`, 0), value })),
      60,
    );
    expect((await panel.get('runs')).status).toBe(200);
    expect(outcomes((await panel.get('runs')).text).length).toBeGreaterThanOrEqual(50);
  });
});
