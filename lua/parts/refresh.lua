-- refresh.lua: makes due jobs ready, and takes back the jobs of silent workers.
--
--   after texts.lua, tied.lua, aside.lua, budget.lua

local promotions, reclaims

-- Due jobs go to the tail of the ready list, in the order in which they became due.
local function promote(queue, now)
  promotions = promotions or new_budget()
  ask_to_remove(queue.delayed)
  repeat
    local page = call('ZRANGEBYSCORE', queue.delayed, '-inf', now, 'LIMIT', 0, PAGE)
    local count = 0
    while page[count + 1] and charge(promotions, page[count + 1]) do count = count + 1 end
    if count > 0 then
      call('RPUSH', queue.ready, unpack(page, 1, count))
      queue.filled = true
      call('ZREM', queue.delayed, unpack(page, 1, count))
    end
  until count < PAGE
end

-- Jobs whose lease has ended go to the head, before all waiting jobs, in the order in which their leases ended.
local function reclaim(turn, queue, place, now)
  reclaims = reclaims or new_budget()
  ask_to_remove(queue.reserved)
  local gone, back, unreadable, seen, fits = {}, {}, {}, 0, true
  repeat
    local page = call('ZRANGEBYSCORE', queue.reserved, '-inf', now, 'LIMIT', seen, PAGE)
    for _, text in ipairs(page) do
      fits = charge(reclaims, text)
      if not fits then break end
      seen = seen + 1
      local reclaimed = reclaimed_text(text)
      if reclaimed then
        gone[#gone + 1] = text
        table.insert(back, 1, reclaimed)
      else
        unreadable[#unreadable + 1] = text
      end
    end
  until not fits or #page < PAGE
  if #back > 0 then
    call('LPUSH', queue.ready, unpack(back))
    queue.filled = true
    call('ZREM', queue.reserved, unpack(gone))
    for i = #back, 1, -1 do retake(turn, back[i]) end
  end
  for _, text in ipairs(unreadable) do
    set_aside(turn, queue, place, text)
    call('ZREM', queue.reserved, text)
  end
end
