/** Answers the probes of an orchestrator: whether the workers are stuck, and whether they are at work. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SupervisorHealth } from '../worker/supervisor/supervisor-health';
import { healthPortTaken } from './errors';
import type { HealthFlags } from './work-flags';

export interface HealthServer {
  /** `http://127.0.0.1:9000` */
  readonly address: string;
  close(): void;
}

/**
 * Where no address is given, this machine alone may ask: the user decides who else reads the names of queues.
 *
 * @throws E_HEALTH_PORT
 */
export function serveHealth(
  { healthPort, healthHost = '127.0.0.1', name }: HealthFlags,
  health: () => SupervisorHealth,
): Promise<HealthServer> {
  const server = createServer(({ method = '', url = '' }, response) => {
    const [status, body] = ['GET', 'HEAD'].includes(method) ? answerTo(url, health(), name) : [405, {}];
    response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    response.end(`${JSON.stringify(body)}\n`);
  });
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(healthPortTaken(healthHost, healthPort ?? 0, cause)));
    server.listen(healthPort, healthHost, () => {
      const { address, family, port } = server.address() as AddressInfo;
      resolve({
        address: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
        close() {
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}

function answerTo(url: string, health: SupervisorHealth, name: string | undefined): [status: number, body: object] {
  const { live, ready } = health;
  const status = (fine: boolean): number => (fine ? 200 : 503);
  switch (url.split('?', 1)[0]) {
    case '/live':
      return [status(live), { live }];
    case '/ready':
      return [status(ready), { ready }];
    case '/health':
      return [status(live), { name, ...health }];
    default:
      return [404, { paths: ['/live', '/ready', '/health'] }];
  }
}
