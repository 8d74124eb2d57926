export class Printer {
  async print(text: string) {
    console.log(`printed ${text}`);
  }
}
