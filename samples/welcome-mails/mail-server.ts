/** A local mail server for the sample: it speaks real SMTP, and refuses some mails as real servers do. */
import { SMTPServer } from 'smtp-server';

interface Refusal extends Error {
  responseCode: number;
}

export class MailServer {
  /** The recipient of each accepted mail. */
  readonly taken: string[] = [];
  /** How many times a recipient was refused temporarily. */
  temporaryRefusals = 0;
  readonly #timesAsked = new Map<string, number>();
  readonly #server: SMTPServer;

  constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['AUTH', 'STARTTLS'],
      logger: false,
      onRcptTo: ({ address }, _session, done) => done(this.#refusal(address)),
      onData: (stream, session, done) => {
        stream.resume();
        stream.on('end', () => {
          this.taken.push(...session.envelope.rcptTo.map(({ address }) => address));
          done();
        });
      },
    });
  }

  /** Listens on a free port and resolves with it. */
  start(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      const listener = this.#server.listen(0, '127.0.0.1', () => {
        const address = listener.address();
        if (address === null || typeof address === 'string') reject(new Error('The mail server got no port.'));
        else resolve(address.port);
      });
    });
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  /** `gone.example` always refuses. `busy.example` says "later" once, and twice to some of its users. */
  #refusal(address: string): Refusal | null {
    const asked = (this.#timesAsked.get(address) ?? 0) + 1;
    this.#timesAsked.set(address, asked);
    if (address.endsWith('@gone.example')) return refusal(550, `${address}: no such user here`);
    const patience = address.length % 3 === 0 ? 2 : 1;
    if (!address.endsWith('@busy.example') || asked > patience) return null;
    this.temporaryRefusals += 1;
    return refusal(450, `${address}: mailbox busy, try again later`);
  }
}

function refusal(responseCode: number, message: string): Refusal {
  return Object.assign(new Error(message), { responseCode });
}
