/** Answers an orchestrator's probes (are the workers alive, are they ready) and Prometheus. */
import { groupsOf } from '../base/groups';
import type { JobCounts } from '../operations/figures/job-counts';
import { jobMetrics } from '../operations/figures/job-metrics';
import { PROMETHEUS_TYPE, prometheusText, type Metric } from '../operations/figures/prometheus-text';
import type { SupervisorHealth } from '../worker/supervisor/supervision';
import { serve, type Answer, type HttpServer } from './http-server';
import type { HealthFlags } from './work-flags';

export interface Served {
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
