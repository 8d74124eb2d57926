import { StoreConnection } from '../../../src/connections/kit/connection';

class Shelf {
  readonly #books = ['a'];
  readonly room = { number: 7 };

  async books(): Promise<readonly string[]> {
    return this.#books;
  }

  async take(book: string): Promise<boolean> {
    return (await this.books()).includes(book);
  }
}

class Library extends StoreConnection {
  readonly driver = 'library';
  readonly shelf = this.whileOpen('shelf', new Shelf());

  protected async end(): Promise<void> {}
}

it('a part of an open connection works as it does by itself', async () => {
  const { shelf } = new Library('books');

  await expect(shelf.take('a')).resolves.toBe(true);
  await expect(shelf.take('b')).resolves.toBe(false);
  expect(shelf.room).toEqual({ number: 7 });
  expect(shelf).toBeInstanceOf(Shelf);
});

it('every function of a part rejects once the connection is closed, and the error names it', async () => {
  const library = new Library('books');
  await library.close();

  await expect(library.shelf.books()).rejects.toMatchObject({ code: 'E_CONNECTION_CLOSED' });
  await expect(library.shelf.take('a')).rejects.toThrow(/^shelf\.take came after connection 'books' was closed/);
});
