<?php
/** What a Laravel application declares, and `with-laravel.test.ts` too. */
namespace App\Enums {
    enum Plan: string { case Free = 'free'; case Paid = 'paid'; }
}

namespace App\Models {
    /** As much of a model as the restoration of a job asks of it. */
    class User implements \Illuminate\Contracts\Queue\QueueableEntity {
        public function __construct(public $id = null, public array $relations = [], public ?string $connection = null) {}
        public function getQueueableId() { return $this->id; }
        public function getQueueableRelations() { return $this->relations; }
        public function getQueueableConnection() { return $this->connection; }
        public function setConnection($name) { $this->connection = $name; return $this; }
        public function newQueryForRestoration($id) { $this->id = $id; return $this; }
        public function useWritePdo() { return $this; }
        public function firstOrFail() { return $this; }
        public function load($relations) { $this->relations = $relations; return $this; }
    }
}

namespace App\Jobs {
    use App\Enums\Plan;
    use App\Models\User;

    class SendInvoice implements \Illuminate\Contracts\Queue\ShouldQueue {
        use \Illuminate\Queue\InteractsWithQueue, \Illuminate\Bus\Queueable, \Illuminate\Queue\SerializesModels;

        public $tries = 3;

        public function __construct(
            public int $invoice,
            protected string $to = 'ada',
            private array $lines = [],
            public ?\Illuminate\Support\Carbon $at = null,
            public ?\DateTimeImmutable $due = null,
            public ?Plan $plan = null,
            public float $amount = 1.0,
            public array $prices = [],
            public ?int $big = null,
            public ?User $user = null,
        ) {}

        public function handle() {
            if ($this->to === 'fails') throw new \RuntimeException('no luck');
            say('ran', ['values' => [
                'invoice' => $this->invoice,
                'to' => $this->to,
                'lines' => $this->lines,
                'at' => $this->at?->format('Y-m-d H:i:s.u e'),
                'due' => $this->due?->format('Y-m-d H:i:s.u e'),
                'plan' => $this->plan?->name,
                'amount' => var_export($this->amount, true),
                'prices' => var_export($this->prices, true),
                'big' => (string) $this->big,
                'user' => $this->user === null ? null : [$this->user->id, $this->user->relations, $this->user->connection],
            ]]);
        }

        public function failed($error) {
            say('failed', ['invoice' => $this->invoice, 'error' => $error->getMessage()]);
        }
    }

    class Strict implements \Illuminate\Contracts\Queue\ShouldQueue {
        use \Illuminate\Queue\InteractsWithQueue, \Illuminate\Bus\Queueable, \Illuminate\Queue\SerializesModels;
        public function __construct(private int $code) {}
        public function handle() { say('ran', ['values' => ['code' => $this->code]]); }
    }

    function say(string $what, array $more = []) {
        fwrite(STDOUT, json_encode(['said' => $what] + $more, JSON_UNESCAPED_SLASHES) . "\n");
    }
}
