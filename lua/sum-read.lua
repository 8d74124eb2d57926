-- sum-read.lua: read sums.
--
--   parts    budget
--
--   KEYS[1..] sums      hash    '+' and the name of an amount -> its sum; 'end' -> when the sums expire (µs)
--   ARGV[1] offset      number  see parts/base.lua
--
--   returns  {'read', text}        (JSON: an object for each sum, its amounts as strings; empty if it has
--            expired; fewer objects than keys if the rest does not fit)
--   keeps    writes nothing
--   cost     O(1) for each amount: 100 sums or 1 MiB at most, and one sum however large

local sums, COUNTED = { unpack(KEYS) }, 43

local moment, budget, texts = clock(), new_budget(), {}
for place, sum in ipairs(sums) do
  local amounts = {}
  if tonumber(call('HGET', sum, 'end') or 0) > moment then
    local fields = call('HGETALL', sum)
    for at = 1, #fields, 2 do
      if byte(fields[at]) == COUNTED then amounts[sub(fields[at], 2)] = fields[at + 1] end
    end
  end
  local text = cjson.encode(amounts)
  if not charge(budget, text) then break end
  texts[place] = text
end
-- One text: a page of a busy store has thousands of amounts, and a reply takes its reader longer for each of its parts.
return { 'read', '[' .. table.concat(texts, ',') .. ']' }
