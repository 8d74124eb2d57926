/** A small HTTP server for monitoring: answers a few paths, only to this machine by default. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { healthPortTaken } from './errors';

export interface Answer {
  readonly status: number;
  /** A text, or an object to send as JSON. */
  readonly body: string | object;
  /** The type of a text. */
  readonly type?: string | undefined;
}

export interface HttpServer {
  /** `http://127.0.0.1:9000` */
  readonly address: string;
  readonly port: number;
  close(): void;
}

export interface ServerPlace {
  /** The flag for the port, for errors. */
  readonly flag: '--port' | '--health-port';
  readonly port: number | undefined;
  /** Default: only this machine may ask. The user decides who else may read the names of queues. */
  readonly host?: string | undefined;
}

/**
 * @param answer answers a GET of a path; must not reject
 * @throws E_HEALTH_PORT
 */
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
    server.once('error', (cause) => reject(healthPortTaken({ flag, host, port }, cause)));
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
