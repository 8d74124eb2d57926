-- sum-add.lua: add to sums in one step, and only once.
--
--   KEYS[1] mark        string  the number of the last addition of this source
--   KEYS[2..] sums      hash    '+' and the name of an amount -> its sum; 'end' -> when the sums expire (µs)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  of this addition, among those of the source
--   ARGV[3..] amounts           for each of the sums: the milliseconds for which it is kept; the number of fields;
--                               the fields; and the amount of each
--
--   returns  {'added'} | {'known'}      ('known' writes nothing: this addition, or a later one, was carried out)
--   keeps    I16
--   cost     O(1) for each amount

local mark, sequence = KEYS[1], tonumber(ARGV[2])
-- PAGE_OF_FIELDS: Lua can pass this many to one call without running out of stack.
local FIRST_SUM, FIRST_AMOUNT, PAGE_OF_FIELDS = 2, 3, 1000

if tonumber(call('GET', mark) or 0) >= sequence then return { 'known' } end
-- A key of another type must fail the call before anything is written.
local sums = { unpack(KEYS, FIRST_SUM) }
for _, sum in ipairs(sums) do call('HGET', sum, 'end') end

local moment, at = clock(), FIRST_AMOUNT

-- Returns where the arguments of the next sum begin.
local function add(sum)
  local keep, count = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local first_field, last_field = at + 2, at + 1 + count
  if tonumber(call('HGET', sum, 'end') or moment + 1) <= moment then call('DEL', sum) end
  call('HSET', sum, 'end', format('%.0f', moment + keep * 1000))
  for first = first_field, last_field, PAGE_OF_FIELDS do
    local last = math.min(first + PAGE_OF_FIELDS - 1, last_field)
    local fields = {}
    for place, before in ipairs(call('HMGET', sum, unpack(ARGV, first, last))) do
      local field = first + place - 1
      fields[#fields + 1] = ARGV[field]
      fields[#fields + 1] = format('%.0f', tonumber(before or 0) + tonumber(ARGV[field + count]))
    end
    call('HSET', sum, unpack(fields))
  end
  call('PEXPIRE', sum, keep)
  return last_field + count + 1
end

-- Written first, so that nothing is ever added twice. If the script is refused half way, some amounts are missing.
call('SET', mark, sequence, 'EX', KEPT)
for _, sum in ipairs(sums) do at = add(sum) end
return { 'added' }
