/** Answers the probes of an orchestrator: whether the workers are stuck, and whether they are at work. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SupervisorHealth } from '../worker/supervisor/supervisor-health';
import { healthPortTaken } from './errors';

/** Probes come from the machine itself, unless it is said otherwise: who may read the names of queues is the user's to say. */
const DEFAULT_HOST = '127.0.0.1';

/** Where an orchestrator asks how the workers are. */
export interface HealthFlags {
  readonly healthPort?: number | undefined;
  readonly healthHost?: string | undefined;
  /** Stands in `/health`. */
  readonly name?: string | undefined;
}

type NamedHealth = SupervisorHealth & Pick<HealthFlags, 'name'>;

interface Answer {
  readonly status: number;
  readonly body: object;
}

export class HealthServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @throws E_HEALTH_PORT */
  static open(
    { healthPort, healthHost = DEFAULT_HOST, name }: HealthFlags,
    health: () => SupervisorHealth,
  ): Promise<HealthServer> {
    const server = createServer((request, response) => answer(request, response, () => ({ name, ...health() })));
    return new Promise((resolve, reject) => {
      server.once('error', (cause) => reject(healthPortTaken(healthHost, healthPort ?? 0, cause)));
      server.listen(healthPort, healthHost, () => resolve(new HealthServer(server)));
    });
  }

  /** `http://127.0.0.1:9000` */
  get address(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function answer({ method = '', url = '' }: IncomingMessage, response: ServerResponse, health: () => NamedHealth): void {
  const { status, body } = method === 'GET' || method === 'HEAD' ? answerTo(url, health()) : { status: 405, body: {} };
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

function answerTo(url: string, health: NamedHealth): Answer {
  const { live, ready } = health;
  switch (url.split('?', 1)[0]) {
    case '/live':
      return { status: statusOf(live), body: { live } };
    case '/ready':
      return { status: statusOf(ready), body: { ready } };
    case '/health':
      return { status: statusOf(live), body: health };
    default:
      return { status: 404, body: { paths: ['/live', '/ready', '/health'] } };
  }
}

function statusOf(fine: boolean): number {
  return fine ? 200 : 503;
}
