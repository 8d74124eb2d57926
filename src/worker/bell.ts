/** Lets a loop sleep until something happened: rung from anywhere, remembered until it is heard. */
export class Bell {
  #rung = false;
  #hear: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#hear?.();
  }

  /** Resolves at once if it was rung since the last call: nothing that happens between two calls is missed. */
  async heard(): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        this.#hear = resolve;
      });
    }
    this.#hear = undefined;
    this.#rung = false;
  }
}
