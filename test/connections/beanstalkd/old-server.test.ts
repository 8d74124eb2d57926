import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';

@Job()
class OldMail extends Job {}

/** A server that reports this version and knows no other command. */
async function serverOf(version: string): Promise<{ server: Server; asked: string[]; sockets: Set<Socket> }> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const stats = `---\nversion: "${version}"\nmax-job-size: 65535\n`;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      for (const line of chunk.toString('latin1').trimEnd().split('\r\n')) {
        asked.push(line);
        socket.write(line === 'stats' ? `OK ${stats.length}\r\n${stats}\r\n` : 'UNKNOWN_COMMAND\r\n');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, asked, sockets };
}

describe('a beanstalkd of another version', () => {
  let server: Server;
  let sockets: Set<Socket>;
  let asked: string[];
  let manager: QueueManager;
  let logger: RecordingLogger;

  const open = async (version: string): Promise<void> => {
    ({ server, asked, sockets } = await serverOf(version));
    logger = new RecordingLogger();
    const url = `beanstalk://127.0.0.1:${(server.address() as AddressInfo).port}`;
    manager = new QueueManager(
      { connectors: builtInConnectors, logger },
      { connections: { old: { driver: 'beanstalkd', url } } },
    );
  };

  afterEach(async () => {
    await manager.close();
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  const dispatch = (): Promise<unknown> =>
    new JobBus(() => manager).dispatch(new OldMail()).catch((error: unknown) => error);

  it.each(['1.4.6', '1.9'])('is told to be too old, and asked for nothing, where it is %s', async (version) => {
    await open(version);
    const worker = new Worker({ grace: 0 }, manager);
    const stopped = worker.run();

    const failure = await dispatch();
    const lines = (): string[] => logger.lines.filter(({ level }) => level === 'error').map(({ message }) => message);
    await eventually(() => lines().length > 0);
    await worker.stop();
    await stopped;

    expect(failure).toMatchObject({
      code: 'E_BEANSTALKD_VERSION',
      facts: { found: version, needed: '1.10', consequence: 'OldMail was not queued' },
      message: expect.stringContaining('Install version 1.10 or newer.') as string,
    });
    expect(lines()).toEqual([expect.stringContaining(`beanstalkd ${version}`)]);
    await expect(manager.driver().diagnose()).rejects.toMatchObject({ code: 'E_BEANSTALKD_VERSION' });
    expect(new Set(asked)).toEqual(new Set(['stats']));
  });

  it.each(['1.10', '1.12+3+gabcdef', '2.0', 'unknown'])('is asked where it is %s', async (version) => {
    await open(version);
    expect(await dispatch()).toMatchObject({ code: 'E_BEANSTALKD_REPLY' });
  });
});
