import { Job } from '../../src/job/job';
import { jobMetrics, prometheusText, queueMetrics } from '../../src/operations/figures/metrics';
import { Worker } from '../../src/worker/worker';
import { testApplication, type TestApplication } from '../support/application';
import { parsePrometheus } from '../support/prometheus';

let application: TestApplication;

@Job({ queue: 'mail' })
class Scraped extends Job {
  constructor(readonly fails = false) {
    super();
  }
  handle(): void {
    if (this.fails) this.fail('bounced');
  }
}

beforeEach(() => {
  application = testApplication();
});

afterEach(() => application.manager.close());

const told = () => parsePrometheus(prometheusText(jobMetrics(application.manager.counters.all)));

function valuesOf(name: string): Record<string, number> {
  const samples = [...(told().get(name)?.samples ?? [])];
  return Object.fromEntries(samples.map(([key, { value }]) => [key, value]));
}

describe('the metrics of jobs', () => {
  it('count dispatches, outcomes and times', async () => {
    await application.bus.bulk([new Scraped(), new Scraped(), new Scraped(true)]);
    await new Worker({ queue: 'mail', stopWhenEmpty: true }, application.manager).run();

    expect(valuesOf('onqueue_dispatched_total')).toEqual({
      'onqueue_dispatched_total{queue="mail",job="Scraped"}': 3,
    });
    expect(valuesOf('onqueue_jobs_total')).toMatchObject({
      'onqueue_jobs_total{queue="mail",job="Scraped",outcome="completed"}': 2,
      'onqueue_jobs_total{queue="mail",job="Scraped",outcome="failed"}': 1,
      'onqueue_jobs_total{queue="mail",job="Scraped",outcome="lost"}': 0,
    });
    expect(valuesOf('onqueue_job_duration_seconds')).toMatchObject({
      'onqueue_job_duration_seconds_bucket{queue="mail",job="Scraped",le="+Inf"}': 3,
      'onqueue_job_duration_seconds_count{queue="mail",job="Scraped"}': 3,
    });
    expect(valuesOf('onqueue_job_wait_seconds')).toMatchObject({ 'onqueue_job_wait_seconds_count{queue="mail"}': 3 });
  });

  it('contain no job name that only a payload gives', async () => {
    const name = 'App\\"} 1 onqueue_jobs_total{queue=\\"evil';
    await application.manager.connection().pushRaw(`{"job":"${name}","data":{},"attempts":0}`, 'mail');
    await new Worker({ queue: 'mail', once: true }, application.manager).run();

    expect(valuesOf('onqueue_jobs_total')).toMatchObject({
      'onqueue_jobs_total{queue="mail",job="(unknown)",outcome="released"}': 1,
    });
  });

  it('are combined if two connections have a queue with the same name', () => {
    const counted = ['redis', 'memory'].map((connection) => ({
      connection,
      queue: 'mail',
      job: 'A',
      counts: { c: 2 },
    }));
    const metrics = parsePrometheus(prometheusText(jobMetrics(counted)));
    const completed = metrics.get('onqueue_jobs_total')!.samples;
    expect(completed.get('onqueue_jobs_total{queue="mail",job="A",outcome="completed"}')).toMatchObject({ value: 4 });
  });

  it.each(['a"b', 'a\\', '\\"', 'a\nb', '"} 1\nonqueue_workers 99', 'é漢\u2028', '', '\\n', '__proto__'])(
    'are escaped correctly for a queue named %j',
    (queue) => {
      const snapshot = {
        ready: 1,
        delayed: 0,
        running: 0,
        failed: 2,
        oldestWait: 0.5,
        isPaused: false,
        pausedUntil: undefined,
        limit: undefined,
      };
      const queues = [{ queue, rate: 0, failures: 0, ...snapshot }];
      const text = prometheusText(
        queueMetrics({ connection: 'main', at: new Date(), isExact: true, queues, otherQueues: 0, workers: [] }),
      );
      const samples = [...parsePrometheus(text).get('onqueue_failed_jobs')!.samples.values()];
      expect(samples).toEqual([{ name: 'onqueue_failed_jobs', labels: { connection: 'main', queue }, value: 2 }]);
    },
  );
});
