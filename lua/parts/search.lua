-- search.lua: searches a list or a sorted set without blocking the server.
--
--   after budget.lua

-- The first text for which `is_meant` is true, and how many were looked at before it: 100 or 1 MiB at most.
-- `page_from` reads a page of so many texts from a place on.
local function search(page_from, is_meant)
  local budget, looked, size, page = new_budget(), 0, 1, nil
  repeat
    page = page_from(looked, size)
    for _, text in ipairs(page) do
      if not charge(budget, text) then return nil, looked end
      if is_meant(text) then return text, looked end
      looked = looked + 1
    end
    local is_last = #page < size
    size = math.max(size_after(size, budget), 1)
  until is_last
  return nil, looked
end
