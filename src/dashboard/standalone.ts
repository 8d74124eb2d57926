/** The dashboard as a program of its own, with its own sign-in: `onqueue dashboard`. */
import { createServer, type Server } from 'node:http';
import type { QueueManager } from '../application/queue-manager';
import type { Role } from './access/access';
import { KeyAccess } from './access/key-access';
import type { Tokens } from './access/tokens';
import { respond } from './http/handlers';
import { Site } from './site';

export { tokensIn } from './access/tokens';

/** We do not wait for requests that arrive slowly or never end. In milliseconds. */
const PATIENCE = { headersTimeout: 10_000, requestTimeout: 30_000, connectionsCheckingInterval: 5000 };

export class StandaloneDashboard {
  /** Answers requests once `begin` was called. */
  readonly server: Server = createServer(PATIENCE);
  readonly #manager: QueueManager;
  #site: Site | undefined;

  constructor(manager: QueueManager) {
    this.#manager = manager;
  }

  /**
   * Lets people in. Returns the way, relative to the server's address: a one-time key, or nothing with a token. @param port of
   * the server
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
