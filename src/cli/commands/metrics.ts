/** `metrics`: the queues of a connection as Prometheus metrics, printed once or served. */
import type { Milliseconds } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import type { QueueConnection } from '../../dispatch/queue-connection';
import { PROMETHEUS_TYPE, prometheusText, queueMetrics } from '../../operations/figures/metrics';
import { defineCommand } from '../command';
import { port, text } from '../flags';
import { serve, type Answer } from '../http-server';
import { CONNECTION_WORD, openNamed } from '../named-queues';
import type { Surroundings } from '../session';
import { stopped } from '../stop-signals';

/** The store is not asked more often than this, however often the metrics are. */
const FRESH: Milliseconds = 5000;

export const metrics = defineCommand({
  name: 'metrics',
  summary: 'print or serve the sizes of the queues for Prometheus',
  description:
    'Outcomes and durations of jobs come from each worker: onqueue work --health-port=9000 serves them at /metrics.',
  examples: [
    ['onqueue metrics', 'once'],
    ['onqueue metrics --port=9100', 'serve /metrics to this machine until stopped'],
    ['onqueue metrics redis --port=9100 --host=0.0.0.0', 'another connection, to all machines'],
  ],
  words: CONNECTION_WORD,
  flags: {
    port: port('serve http://127.0.0.1:<port>/metrics instead of printing once'),
    host: text('<address>', 'address for --port; 0.0.0.0 means all (default: 127.0.0.1)'),
  },
  async run(call) {
    const { connection } = await openNamed(call);
    const { port: given, host, json } = call.flags;
    if (given === undefined) {
      if (host !== undefined) call.refuse('--host only works with --port');
      const found = queueMetrics(await connection.snapshot());
      call.output.result(found, prometheusText(found).trimEnd());
      return;
    }
    if (json === true) call.refuse('--json prints once: give either --json or --port');
    const { surroundings } = call.session;
    const place = { flag: '--port', port: given, host } as const;
    const server = await serve(place, scraped(connection, surroundings));
    call.output.note(`Metrics are served at ${server.address}/metrics.`);
    await stopped(surroundings);
    server.close();
  },
});

/** Answers for Prometheus; never rejects. */
function scraped(connection: QueueConnection, { clock }: Surroundings): (path: string) => Answer | Promise<Answer> {
  let answer: Promise<Answer> | undefined;
  let askedAt = -Infinity;
  const ask = async (): Promise<Answer> => {
    try {
      const body = prometheusText(queueMetrics(await connection.snapshot()));
      return { status: 200, body, type: PROMETHEUS_TYPE };
    } catch (error) {
      return { status: 503, body: { error: errorMessage(error) } };
    }
  };
  return (path) => {
    if (path !== '/metrics') return { status: 404, body: { paths: ['/metrics'] } };
    const now = clock.monotonic();
    if (answer === undefined || now - askedAt >= FRESH) {
      askedAt = now;
      answer = ask();
    }
    return answer;
  };
}
