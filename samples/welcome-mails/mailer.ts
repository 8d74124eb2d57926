/** Sends mail. It is injected into the jobs because it holds connections, which no queue can carry. */
import { createTransport } from 'nodemailer';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export class Mailer {
  readonly #transport;

  constructor(port: number) {
    this.#transport = createTransport({
      host: '127.0.0.1',
      port,
      secure: false,
      ignoreTLS: true,
      pool: true,
      maxConnections: 10,
    });
  }

  async send(mail: Mail): Promise<void> {
    await this.#transport.sendMail({ from: 'newsletter@onqueue.example', ...mail });
  }

  close(): void {
    this.#transport.close();
  }
}

/** In SMTP, a code from 500 means "never", one from 400 "not now". */
export function isRefusedForGood(error: unknown): error is Error {
  return error instanceof Error && 'responseCode' in error && Number(error.responseCode) >= 500;
}
