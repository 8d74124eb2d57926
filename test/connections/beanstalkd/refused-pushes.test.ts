/** A stand-in for a server out of memory, a state that no test can bring a real one into. */
import { createServer, type Server, type Socket, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { BeanstalkdConnection } from '../../../src/connections/beanstalkd/connection';
import { builtInConnectors } from '../../../src/connections/built-in';
import { systemClock } from '../../../src/base/clock';
import { silentLogger } from '../../../src/base/logger';
import { QueueManager } from '../../../src/application/queue-manager';

const FACTS = '---\nid: fake\nversion: "1.13"\nmax-job-size: 65535\n';
const PUT = /^put \d+ \d+ \d+ (\d+)$/;

let server: Server;
let connection: BeanstalkdConnection;
/** All commands received, without the bodies of jobs. */
let heard: string[];
/** Planned answers to commands, by their first word and in order. Other commands succeed. */
let answers: Record<string, string[]>;

const url = (): string => `beanstalk://127.0.0.1:${(server.address() as AddressInfo).port}`;

function answerTo(line: string): string {
  const [word = ''] = line.split(' ');
  const planned = answers[word]?.shift();
  if (planned !== undefined) return planned;
  if (word === 'stats') return `OK ${FACTS.length}\r\n${FACTS}`;
  return word === 'put' ? `INSERTED ${heard.length}` : word === 'use' ? 'USING tube' : 'DELETED';
}

function serve(socket: Socket): void {
  let text = '';
  socket.on('error', () => undefined);
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end);
      const size = Number(PUT.exec(line)?.[1] ?? -2);
      if (text.length < end + 4 + size) return;
      text = text.slice(end + 4 + size);
      if (line !== 'stats') heard.push(line.replace(/^put .*/, 'put'));
      socket.write(`${answerTo(line)}\r\n`);
    }
  });
}

beforeEach(async () => {
  heard = [];
  answers = {};
  server = createServer(serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const facts = { name: 'tubes', clock: systemClock, deadline: 60, retryAfter: 60 };
  connection = new BeanstalkdConnection({ driver: 'beanstalkd', url: url() }, { ...facts, maxPayload: 65_535 });
});

afterEach(async () => {
  await connection.close();
  server.close();
});

const push = (count: number, queue = 'default'): Promise<void> =>
  connection.push(
    queue,
    Array.from({ length: count }, (_, index) => ({ payload: `{"id":"${index}","attempts":0}` })),
  );

it.each([
  ['OUT_OF_MEMORY', 'refused (OUT_OF_MEMORY); 1 job was not queued. Give it more memory, or make room.'],
  ['BURIED 7', 'refused (BURIED 7); 1 job was not queued. It has no memory left: give it more, or make room.'],
])('a push that is answered with %s is refused with the remedy', async (answer, message) => {
  answers = { put: [answer] };

  await expect(push(1)).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    message: expect.stringContaining(message),
    facts: { refused: true, uncertain: false },
  });
});

it('a push that the server accepts only in part is taken back, so that it can be sent again as a whole', async () => {
  answers = { put: ['INSERTED 1', 'BURIED 2', 'OUT_OF_MEMORY'] };

  await expect(push(3)).rejects.toMatchObject({
    message: expect.stringContaining('3 jobs were not queued'),
    facts: { uncertain: false },
  });
  expect(heard).toEqual(['put', 'put', 'put', 'delete 1', 'delete 2']);
});

it('a partly accepted push whose jobs were already reserved says so, because a repeated push would run them twice', async () => {
  answers = { put: ['INSERTED 1', 'OUT_OF_MEMORY'], delete: ['NOT_FOUND'] };

  await expect(push(2)).rejects.toMatchObject({
    message: expect.stringContaining('1 of 2 jobs was not queued'),
    facts: { uncertain: true },
  });
});

it('jobs that went into the wrong tube because theirs could not be made are taken back, and later ones go into theirs', async () => {
  answers = { use: ['OUT_OF_MEMORY'] };

  await expect(push(1, 'mail')).rejects.toMatchObject({ facts: { refused: true, uncertain: false } });
  await push(1, 'mail');

  expect(heard).toEqual(['use mail', 'put', 'delete 2', 'use mail', 'put']);
});

it('a reserve that the server refuses brings nothing', async () => {
  answers = { 'reserve-with-timeout': ['OUT_OF_MEMORY'] };

  const { reply } = await connection.exchange([], { queues: ['default'], limit: 1, lease: 60 });

  expect(reply.reservations).toEqual([]);
});

it('a failover pushes refused jobs once to its next connection', async () => {
  answers = { put: ['INSERTED 1', 'OUT_OF_MEMORY'] };
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger },
    {
      default: 'both',
      connections: {
        tubes: { driver: 'beanstalkd', url: url() },
        spare: { driver: 'memory' },
        both: { driver: 'failover', connections: ['tubes', 'spare'] },
      },
    },
  );

  await manager.driver().push('default', [{ payload: '{"id":"a"}' }, { payload: '{"id":"b"}' }]);

  expect(heard).toEqual(['put', 'put', 'delete 1']);
  expect(await manager.connection('spare').counts()).toMatchObject({ ready: 2 });
  await manager.close();
});
