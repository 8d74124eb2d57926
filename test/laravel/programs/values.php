<?php
/** `values.php SEED COUNT`: as many values, serialized. Without arguments: reads texts, and prints each as PHP writes it again. A line is base64. */
enum Suit: string { case Hearts = 'H'; case Spades = 'S'; }
class Open { public $a; public $next; }
class Hidden { public $p = 1; protected $q = 'two'; private $r = [3]; }

function value(int $depth) {
    switch (mt_rand(0, $depth > 4 ? 6 : 13)) {
        case 0: return null;
        case 1: return (bool) mt_rand(0, 1);
        case 2: return mt_rand(-1000000, 1000000);
        case 3: return PHP_INT_MAX - mt_rand(0, 5);
        case 4: return mt_rand() / 7 * 10 ** mt_rand(-30, 30);
        case 5: return str_repeat("é\u{1F600}a\"};\0", mt_rand(0, 3));
        case 6: return [1.0, -0.0, INF, -INF, NAN, 1e300, 0.1][mt_rand(0, 6)];
        case 7: $list = []; for ($i = mt_rand(0, 4); $i--;) $list[] = value($depth + 1); return $list;
        case 8: $map = []; for ($i = mt_rand(0, 4); $i--;) $map[mt_rand(0, 1) ? 'k' . mt_rand(0, 99) : mt_rand(-5, 99)] = value($depth + 1); return $map;
        case 9: $open = new Open; $open->a = value($depth + 1); return $open;
        case 10: return Suit::Hearts;
        case 11: return new DateTimeImmutable('@' . mt_rand(0, 2000000000));
        case 12: $open = new Open; $open->a = new Hidden; $open->next = [$open->a, $open->a]; return $open;
        case 13: return new Hidden;
    }
}

if ($argc > 1) {
    mt_srand((int) $argv[1]);
    for ($i = 0; $i < (int) $argv[2]; $i++) echo base64_encode(serialize(value(0))), "\n";
} else {
    while (($line = fgets(STDIN)) !== false) {
        $value = @unserialize(base64_decode(trim($line)));
        echo base64_encode(serialize($value)), "\n";
    }
}
