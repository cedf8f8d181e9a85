half half_of(half x)
{
    return x * 0.5h;
}
