/** A small HTTP server: answers monitoring, by default from this machine alone, and an orchestrator's probes. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { groupsOf } from '../base/collections';
import type { JobCounts } from '../operations/figures/job-counters';
import { jobMetrics, type Metric, PROMETHEUS_TYPE, prometheusText } from '../operations/figures/metrics';
import type { SupervisorHealth } from '../worker/supervisor/supervision';
import { healthPortTaken } from './errors';
import type { HealthFlags } from './flags';

export interface Answer {
  readonly status: number;
  /** A text, or an object to send as JSON. */
  readonly body: string | object;
  /** The type of a text. */
  readonly type?: string | undefined;
}

interface HttpServer {
  /** `http://127.0.0.1:9000` */
  readonly address: string;
  readonly port: number;
  close(): void;
}

interface ServerPlace {
  /** The flag for the port, for errors. */
  readonly flag: '--port' | '--health-port';
  readonly port: number | undefined;
  /** Default: only this machine may ask. The user decides who else may read the names of queues. */
  readonly host?: string | undefined;
}

/** @param answer answers a GET of a path; must not reject @throws E_HEALTH_PORT */
export function serve(place: ServerPlace, answer: (path: string) => Answer | Promise<Answer>): Promise<HttpServer> {
  const server = createServer(({ method = '', url = '' }, response) => {
    const isRead = ['GET', 'HEAD'].includes(method);
    void Promise.resolve(isRead ? answer(url.split('?', 1)[0]!) : { status: 405, body: {} }).then(
      ({ status, body, type = 'application/json' }: Answer) => {
        response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' });
        response.end(typeof body === 'string' ? body : `${JSON.stringify(body)}\n`);
      },
    );
  });
  return listen(server, place);
}

/** @throws E_HEALTH_PORT */
export function listen(server: Server, { flag, port = 0, host = '127.0.0.1' }: ServerPlace): Promise<HttpServer> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(healthPortTaken(flag, host, port, cause)));
    server.listen(port, host, () => {
      const { address, family, port: own } = server.address() as AddressInfo;
      resolve({
        address: `http://${family === 'IPv6' ? `[${address}]` : address}:${own}`,
        port: own,
        close() {
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}

interface Served {
  readonly health: SupervisorHealth;
  /** Counts of all processes that worked here, including those that have ended. */
  readonly counts: readonly JobCounts[];
}

/** @throws E_HEALTH_PORT */
export function serveHealth({ healthPort, healthHost, name }: HealthFlags, served: Served): Promise<HttpServer> {
  const place = { flag: '--health-port', port: healthPort, host: healthHost } as const;
  return serve(place, (path) => answerTo(path, served, name));
}

function answerTo(path: string, served: Served, name: string | undefined): Answer {
  const { health } = served;
  const { live, ready } = health;
  const status = (fine: boolean): number => (fine ? 200 : 503);
  const metrics = (): string => prometheusText([...jobMetrics(served.counts), lagOf(health)]);
  const answers = new Map<string, () => Answer>([
    ['/live', () => ({ status: status(live), body: { live } })],
    ['/ready', () => ({ status: status(ready), body: { ready } })],
    ['/health', () => ({ status: status(live), body: { name, ...health } })],
    ['/metrics', () => ({ status: 200, body: metrics(), type: PROMETHEUS_TYPE })],
  ]);
  return answers.get(path)?.() ?? { status: 404, body: { paths: [...answers.keys()] } };
}

function lagOf({ processes }: SupervisorHealth): Metric {
  return {
    name: 'onqueue_event_loop_lag_seconds',
    help: 'How late the event loop of a process was, within about the last second.',
    type: 'gauge',
    // A leaving process has the same number as its replacement.
    samples: [...groupsOf(processes, ({ process }) => String(process))].map(([process, all]) => ({
      labels: { process },
      value: Math.max(...all.map(({ worker }) => worker?.lag ?? 0)) / 1000,
    })),
  };
}
