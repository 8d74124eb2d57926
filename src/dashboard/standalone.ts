/** The dashboard as a program of its own, with a sign-in of its own: `onqueue dashboard`. */
import { createServer, type Server } from 'node:http';
import type { QueueManager } from '../application/queue-manager';
import type { Role } from './access/access';
import { KeyAccess } from './access/key-access';
import type { Tokens } from './access/tokens';
import { respond } from './http/node-handler';
import { Site } from './site';

export { tokensIn } from './access/tokens';

/** Who sends a request slowly, or never to its end, is not waited for. In milliseconds. */
const PATIENCE = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5000 };

export class StandaloneDashboard {
  /** It answers once `begin` was called. */
  readonly server: Server = createServer(PATIENCE);
  readonly #manager: QueueManager;
  #site: Site | undefined;

  constructor(manager: QueueManager) {
    this.#manager = manager;
  }

  /**
   * Lets people in from now on. Returns what leads in, below the address of the server: a key for one use; where there is a token,
   * nothing is needed.
   *
   * @param port that the server is heard on
   */
  begin(port: number, tokens: Tokens, role: Role): string {
    const { clock, logger } = this.#manager;
    const access = new KeyAccess({ tokens, role, port, clock, logger });
    const site = (this.#site = new Site(() => this.#manager, access));
    this.server.on('request', (request, response) => void respond(site, request, response, '/'));
    return tokens.operator === undefined ? `sign-in?key=${access.makeKey()}` : '';
  }

  close(): void {
    this.#site?.close();
  }
}
