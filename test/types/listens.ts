/** What must and must not compile where a listener is declared. Checked by the compiler; never run. */
import { Events, Inject, Listens, Queue, type Middleware } from 'onqueue';

class OrderShipped {
  constructor(readonly order: number) {}
}

class OrderReturned {
  constructor(readonly reason: string) {}
}

class Mailer {}

abstract class Shop {
  abstract readonly shop: string;
}

// --- Listeners ---

@Listens(OrderShipped, {
  queue: 'mail',
  tries: 3,
  unique: { by: (event: OrderShipped) => event.order },
  debounce: undefined,
})
export class SendMail {
  private constructor(readonly mailer: Mailer) {}
  shouldQueue(event: OrderShipped): boolean {
    return event.order > 0;
  }
  middleware(_event: OrderShipped): Middleware[] {
    return [];
  }
  async handle(_event: OrderShipped, @Inject(Mailer) _mailer: Mailer): Promise<void> {}
  failed(_event: OrderShipped, _error: Error, @Inject(Mailer) _mailer: Mailer): void {}
}

@Listens(Shop)
export class AnyShop {
  handle(_event: Shop): void {}
}

@Listens(OrderShipped)
export class WantsLess {
  handle(_event: { readonly order: number }): void {}
}

// @ts-expect-error -- it takes another event
@Listens(OrderShipped)
export class OtherEvent {
  handle(_event: OrderReturned): void {}
}

// @ts-expect-error -- its failed() takes another event
@Listens(OrderShipped)
export class OtherFailed {
  handle(_event: OrderShipped): void {}
  failed(_event: OrderReturned, _error: Error): void {}
}

// @ts-expect-error -- it has no handle()
@Listens(OrderShipped)
export class NoHandle {}

// @ts-expect-error -- an unknown option
@Listens(OrderShipped, { attempts: 3 })
export class UnknownOption extends WantsLess {}

// @ts-expect-error -- a listener runs when its event is dispatched
@Listens(OrderShipped, { schedule: { every: '1h' } })
export class Scheduled extends WantsLess {}

// --- Dispatching ---

export async function dispatching(): Promise<readonly string[]> {
  const ids: string[] = await Events.dispatch(new OrderShipped(1)).onQueue('a').afterCommit().delay('5m');
  const stop: () => void = Events.connect(new EventTarget(), { shipped: OrderShipped, any: Shop });
  stop();
  // @ts-expect-error -- the class, not an event
  void Events.dispatch(OrderShipped);
  return ids;
}

// --- Testing ---

export function testing(): void {
  const queue = Queue.fake();
  queue.assertPushed(SendMail);
  queue.assertPushed(SendMail, (event: OrderShipped) => event.order === 1);
  queue.assertNotPushed(SendMail, (event: OrderShipped, { queue: on }) => on === 'a' && event.order === 1);
  queue.assertPushedOn('a', SendMail, (event: OrderShipped) => event.order === 1);
  queue.assertSkipped(SendMail, (event: OrderShipped) => event.order === 1);
  // @ts-expect-error -- not what the listener hears
  queue.assertPushed(SendMail, (event: OrderReturned) => event.reason === '');
}
