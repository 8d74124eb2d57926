/** Where the people who run the newsletter look when a mail cannot be delivered. */
export class Alerts {
  readonly written: string[] = [];

  write(text: string): void {
    this.written.push(text);
  }
}
