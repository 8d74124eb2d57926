import { Type } from 'class-transformer';
import { RunnableJob } from '../../src/job/instance';
import type { Class } from '../../src/base/class';
import { JobRegistry, type JobDefinition } from '../../src/job/registry';
import { decodeEnvelope, decodeJob, decodeMiddleware } from '../../src/payload/envelope';
import { encodePayload } from '../../src/payload/payload-text';
import { PayloadVersionError } from '../../src/payload/errors';
import { Vault } from '../../src/payload/vault';

class Charge extends RunnableJob {
  cents: unknown = 500;
  since: unknown = new Date(0);
}

class Order {
  readonly next: unknown;
  constructor(next: unknown = new Charge()) {
    this.next = next;
  }
}

class Parcel extends Order {
  @Type(() => Charge) charge = new Charge();
}

class Retry {
  readonly job = new Charge();
  handle(): void {}
}

interface Declared {
  version?: number | undefined;
  upgrade?: JobDefinition['upgrade'];
}

/** The jobs as one process knows them. */
function application(charge: Declared = {}) {
  const registry = new JobRegistry();
  const register = (target: Class, { version, upgrade }: Declared = {}): JobDefinition => {
    const definition = { name: target.name, aliases: [], version, upgrade, target, options: {}, file: undefined };
    registry.register(definition);
    return definition;
  };
  register(Charge, charge);
  registry.registerData('Retry', Retry, 'Middleware');
  const order = register(Order);
  return {
    write: (job: Order, middleware: readonly unknown[] = []) =>
      encodePayload({ definition: order, job, chosen: {}, id: 'i', middleware, classes: registry }),
    read: (text: string) => decodeJob(decodeEnvelope(Buffer.from(text)), order, registry, new Vault()) as Order,
    middlewareOf: (text: string) => decodeMiddleware(decodeEnvelope(Buffer.from(text)), registry, new Vault()),
  };
}

const upgrade = (data: Record<string, unknown>, from: number): Record<string, unknown> => ({ ...data, from });

describe('a job inside another job', () => {
  it('is upgraded with its typed values in place', () => {
    const text = application({ version: 1 }).write(new Order([new Charge()]));
    const order = application({ version: 2, upgrade }).read(text);

    expect(order.next).toEqual([{ cents: 500, since: new Date(0), from: 1 }]);
    expect((order.next as unknown[])[0]).toBeInstanceOf(Charge);
  });

  it('has version 0 if it declares none', () => {
    const text = application().write(new Order());

    expect(text).not.toContain('version');
    expect(application({ version: 2, upgrade }).read(text).next).toMatchObject({ from: 0 });
  });

  it('is left alone if its version is that of its class', () => {
    const { write, read } = application({ version: 2, upgrade });
    const order = new Order();

    expect(read(write(order))).toEqual(order);
  });

  it('is refused if its version is later, so that a newer worker may run it', () => {
    const text = application({ version: 3 }).write(new Order());

    expect(() => application({ version: 2 }).read(text)).toThrow(PayloadVersionError);
    expect(() => application().read(text)).toThrow('The data of this Charge have version 3');
  });

  it('is also upgraded inside the middleware of a dispatch', () => {
    const text = application({ version: 1 }).write(new Order(null), [new Retry()]);

    expect(application({ version: 2, upgrade }).middlewareOf(text)).toMatchObject([{ job: { from: 1 } }]);
  });

  it.each([
    ['"versions":{"/next":"1"}', '/data/command/next: expected a whole number from 0'],
    ['"versions":[1]', '/data/versions: expected an object'],
  ])('is refused with invalid versions: %s', (versions, reason) => {
    const { write, read } = application({ version: 1 });
    const text = write(new Order()).replace('"versions":{"/next":1}', versions);

    expect(() => read(text)).toThrow(reason);
  });
});

describe('options chosen on a job inside another job', () => {
  const { write } = application();

  it('are refused, because only data travels', () => {
    const charge = new Charge().onQueue('urgent').delay('1h');

    expect(() => write(new Order([charge]))).toThrow(
      'Order.next[0] is a Charge with what onQueue() and delay() or withoutDelay() chose, which a queue cannot carry. ' +
        'Choose it where that job is dispatched.',
    );
  });

  it.each([
    ['a connection', () => new Charge().onConnection('main')],
    ['no delay', () => new Charge().withoutDelay()],
    ['middleware', () => new Charge().through(new Retry())],
  ])('are refused for %s as well', (_, make) => {
    expect(() => write(new Order(make()))).toThrow('Order.next is a Charge with what');
  });

  it('are refused if class-transformer maps the job', () => {
    const parcel = new Parcel();
    parcel.charge.onQueue('urgent');

    expect(() => write(parcel)).toThrow('Order.charge is a Charge with what onQueue() chose');
  });

  it('do not concern the outer job', () => {
    class Outer extends RunnableJob {
      next = new Charge();
    }
    expect(write(new Outer().onQueue('urgent') as unknown as Order)).toContain('class:Charge');
  });
});
