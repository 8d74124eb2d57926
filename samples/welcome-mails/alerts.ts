/** Alerts for the people who run the newsletter when a mail cannot be delivered. */
export class Alerts {
  readonly written: string[] = [];

  write(text: string): void {
    this.written.push(text);
  }
}
